"""Files cut out of Ascend tables of kernels."""
