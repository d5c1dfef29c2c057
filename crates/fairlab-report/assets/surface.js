// What plots draw on: a canvas, or an SVG file with the same calls.

const FONT = "11px ui-sans-serif, system-ui, sans-serif";

class CanvasSurface {
  constructor(canvas, width, height) {
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    this.g = canvas.getContext("2d");
    this.g.setTransform(scale, 0, 0, scale, 0, 0);
    this.g.font = FONT;
    this.g.textBaseline = "middle";
  }

  rect(x, y, width, height, colour, opacity = 1) {
    this.g.globalAlpha = opacity;
    this.g.fillStyle = colour;
    this.g.fillRect(x, y, width, height);
    this.g.globalAlpha = 1;
  }

  // Columns a pixel wide that stand side by side: `heights` of at most `tall`, and their colours as
  // numbers. They stand on the ground at y + tall. All at once, since there are many.
  columns(x, y, tall, heights, colours) {
    const width = heights.length;
    const image = new ImageData(width, tall);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < width; i++) {
      for (let row = tall - Math.round(heights[i]); row < tall; row++) pixels[row * width + i] = colours[i];
    }
    const sheet = new OffscreenCanvas(width, tall);
    sheet.getContext("2d").putImageData(image, 0, 0);
    this.g.imageSmoothingEnabled = false;
    this.g.drawImage(sheet, x, y, width, tall);
  }

  frame(x, y, width, height, colour, thickness = 1) {
    this.g.strokeStyle = colour;
    this.g.lineWidth = thickness;
    this.g.strokeRect(x, y, width, height);
  }

  // Points as [x, y, x, y ...].
  path(points, colour, thickness = 1, isFilled = false) {
    const g = this.g;
    g.beginPath();
    g.moveTo(points[0], points[1]);
    for (let i = 2; i < points.length; i += 2) g.lineTo(points[i], points[i + 1]);
    if (isFilled) { g.fillStyle = colour; g.fill(); return; }
    g.strokeStyle = colour;
    g.lineWidth = thickness;
    g.stroke();
  }

  text(x, y, text, colour, align = "left") {
    this.g.fillStyle = colour;
    this.g.textAlign = align;
    this.g.fillText(text, x, y);
  }
}

class SvgSurface {
  constructor(width, height, background) {
    this.parts = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11">`];
    this.rect(0, 0, width, height, background);
  }

  rect(x, y, width, height, colour, opacity = 1) {
    const faint = opacity < 1 ? ` fill-opacity="${opacity.toFixed(2)}"` : "";
    this.parts.push(`<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${width.toFixed(2)}" ` +
      `height="${height.toFixed(2)}" fill="${colour}"${faint}/>`);
  }

  // Neighbours that look alike become one rectangle.
  columns(x, y, tall, heights, colours) {
    let since = 0;
    for (let i = 1; i <= heights.length; i++) {
      if (i < heights.length && heights[i] === heights[since] && colours[i] === colours[since]) continue;
      const height = Math.round(heights[since]);
      if (height > 0) {
        this.rect(x + since, y + tall - height, i - since, height, colourText(colours[since]),
          (colours[since] >>> 24) / 255);
      }
      since = i;
    }
  }

  frame(x, y, width, height, colour, thickness = 1) {
    this.parts.push(`<rect x="${x.toFixed(2)}" y="${y.toFixed(2)}" width="${width.toFixed(2)}" ` +
      `height="${height.toFixed(2)}" fill="none" stroke="${colour}" stroke-width="${thickness}"/>`);
  }

  path(points, colour, thickness = 1, isFilled = false) {
    const list = Array.from(points, (value) => value.toFixed(2)).join(" ");
    this.parts.push(isFilled ? `<polygon points="${list}" fill="${colour}"/>`
      : `<polyline points="${list}" fill="none" stroke="${colour}" stroke-width="${thickness}"/>`);
  }

  text(x, y, text, colour, align = "left") {
    const anchor = { left: "start", center: "middle", right: "end" }[align];
    const escaped = text.replace(/&/g, "&amp;").replace(/</g, "&lt;");
    this.parts.push(`<text x="${x.toFixed(2)}" y="${y.toFixed(2)}" fill="${colour}" ` +
      `text-anchor="${anchor}" dominant-baseline="central">${escaped}</text>`);
  }

  end() {
    return `${this.parts.join("\n")}\n</svg>\n`;
  }
}

function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// Each plot has `width`, `height` and `paint(surface, width, height)`.
function plotSvg(plot) {
  const surface = new SvgSurface(plot.width, plot.height, theme().plot);
  plot.paint(surface, plot.width, plot.height);
  return surface.end();
}

function savePlot(plot, name, form) {
  if (form === "svg") {
    download(`${name}.svg`, new Blob([plotSvg(plot)], { type: "image/svg+xml" }));
  } else {
    plot.canvas.toBlob((blob) => download(`${name}.png`, blob), "image/png");
  }
}
