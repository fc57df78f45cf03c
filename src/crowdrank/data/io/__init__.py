"""Files and frames in, checked and coded tables out."""
