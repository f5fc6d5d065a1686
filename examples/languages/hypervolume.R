dyn.load("hypervolume_r.so")

# points: a matrix with one row per point. t() puts the objectives of a point next to each other.
hypervolume <- function(points, ref, maximise = TRUE)
  .C("hypervolume", as.double(t(points)), nrow(points), ncol(points),
     rep_len(as.integer(maximise), ncol(points)), as.double(ref), length(ref), volume = double(1),
     NAOK = TRUE)$volume

hypervolume(rbind(c(1, 3), c(2, 2), c(3, 1)), ref = c(0, 0)) # 6
