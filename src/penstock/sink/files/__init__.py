"""Results as files: one folder per epoch, renamed into place when it is whole."""
