"""Reader of XSpace files (`*.xplane.pb`), written by the profilers of JAX and TensorFlow."""
