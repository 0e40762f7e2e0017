"""What needs Python beside SQL: what-ifs, calibration, simulation, typed-in times; functions over a store."""
