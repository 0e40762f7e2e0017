"""Reader of XSpace files (`*.xplane.pb`), which the profilers of JAX and TensorFlow write."""
