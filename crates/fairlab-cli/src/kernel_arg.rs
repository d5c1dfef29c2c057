//! Reading a kernel description from the command line, with suggestions.

use fairlab::kernel::{Feature, Kernel, ParseKernelError, Release, Tunables};

use crate::suggest::did_you_mean;

/// Reads `6.12:NO_SIS_UTIL,hz=1000`. The message of an error ends in near names, where there are
/// any.
pub fn parse_kernel(text: &str) -> Result<Kernel, String> {
    text.parse().map_err(|error: ParseKernelError| {
        let suggestion = match &error {
            ParseKernelError::UnknownRelease(name) => {
                did_you_mean(name, Release::ALL.iter().map(|release| release.name()))
            }
            ParseKernelError::UnknownFeature(name) => {
                did_you_mean(name, Feature::ALL.iter().map(|feature| feature.name()))
            }
            ParseKernelError::UnknownTunable(name) => {
                did_you_mean(name, Tunables::NAMES.iter().copied())
            }
            _ => String::new(),
        };
        // A release is listed in full by the error itself; the other lists are long.
        let hint = match &error {
            ParseKernelError::UnknownFeature(_) | ParseKernelError::UnknownTunable(_)
                if suggestion.is_empty() =>
            {
                "; 'fairlab kernels show 7.2' lists all"
            }
            _ => "",
        };
        format!("{error}{suggestion}{hint}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_end_in_near_names() {
        let error = |text| parse_kernel(text).unwrap_err();
        assert_eq!(
            error("6.12:NO_SIS_UTILL"),
            "unknown feature 'SIS_UTILL', did you mean 'SIS_UTIL'?"
        );
        assert_eq!(
            error("6.12:base_slice=1"),
            "unknown tunable 'base_slice', did you mean 'base_slice_ns'?"
        );
        assert_eq!(
            error("6.12:QQQQQQQQQQQ"),
            "unknown feature 'QQQQQQQQQQQ'; 'fairlab kernels show 7.2' lists all"
        );
        assert_eq!(
            error("6.7"),
            "unknown kernel release '6.7', known are 5.4, 5.6, 5.15, 6.1, 6.6, 6.12, 7.2, \
             did you mean '6.1' or '6.6'?"
        );
    }
}
