//! Plots as PNG.

use std::sync::Arc;

use anyhow::{Context, Result};
use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::fontdb::{Database, Family, Query};
use resvg::usvg::{Options, Tree};

/// Pixels for each unit of a plot: text stays legible when a page is printed.
const SCALE: f32 = 2.0;

/// What `sans-serif` is, the first that is installed.
const SANS: [&str; 5] = [
    "DejaVu Sans",
    "Noto Sans",
    "Liberation Sans",
    "Arial",
    "Helvetica",
];

/// Draws plots with the fonts of this machine.
pub struct Raster {
    fonts: Arc<Database>,
}

impl Raster {
    /// Reads the fonts.
    pub fn new() -> Self {
        let mut fonts = Database::new();
        fonts.load_system_fonts();
        let is_there = |name: &&&str| {
            let query = Query {
                families: &[Family::Name(name)],
                ..Query::default()
            };
            fonts.query(&query).is_some()
        };
        let known = SANS.iter().find(is_there).map(|name| (*name).to_owned());
        // Any font is better than none.
        let any = || {
            let family = fonts.faces().next()?.families.first()?;
            Some(family.0.clone())
        };
        if let Some(family) = known.or_else(any) {
            fonts.set_sans_serif_family(family);
        }
        Self {
            fonts: Arc::new(fonts),
        }
    }

    /// Is there a font to write with?
    pub fn has_fonts(&self) -> bool {
        !self.fonts.is_empty()
    }

    /// The plot `svg` on white, as a PNG file.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>> {
        Ok(self.draw(svg)?.encode_png()?)
    }

    fn draw(&self, svg: &str) -> Result<Pixmap> {
        let options = Options {
            fontdb: Arc::clone(&self.fonts),
            ..Options::default()
        };
        let tree = Tree::from_str(svg, &options)?;
        let size = tree.size().to_int_size();
        let size = size.scale_by(SCALE).context("the plot is too large")?;
        let mut pixels = Pixmap::new(size.width(), size.height()).context("the plot is empty")?;
        pixels.fill(Color::WHITE);
        resvg::render(
            &tree,
            Transform::from_scale(SCALE, SCALE),
            &mut pixels.as_mut(),
        );
        Ok(pixels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_where_they_belong_and_the_rest_is_white() {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg' width='20' height='10' viewBox='0 0 20 10'>\
                   <rect x='10' y='0' width='10' height='10' fill='#ff0000'/></svg>";
        let pixels = Raster::new().draw(svg).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (40, 20));
        let color = |x, y| {
            let color = pixels.pixel(x, y).unwrap();
            (color.red(), color.green(), color.blue())
        };
        assert_eq!(color(5, 10), (255, 255, 255));
        assert_eq!(color(35, 10), (255, 0, 0));
    }

    #[test]
    fn what_is_no_plot_is_an_error() {
        assert!(Raster::new().png("<html/>").is_err());
    }
}
