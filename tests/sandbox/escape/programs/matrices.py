# numpy, where it is installed: a matrix is inverted.
try:
    import numpy
except ImportError:
    print("fine")
else:
    matrix = numpy.random.default_rng(1).random((100, 100))
    assert numpy.allclose(matrix @ numpy.linalg.inv(matrix), numpy.eye(100))
    print("fine")
