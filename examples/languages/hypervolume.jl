# points: one column per point, because Julia stores columns.
function hypervolume(points::Matrix{Float64}, ref::Vector{Float64})
    volume = Ref(0.0)
    status = @ccall "libparetopo_c".paretopo_hypervolume(
        points::Ptr{Float64}, 1::Int64, size(points, 2)::Int64, size(points, 1)::Int64,
        C_NULL::Ptr{Cint}, ref::Ptr{Float64}, length(ref)::Int64, volume::Ptr{Float64})::Cint
    status == 0 || error(unsafe_string(@ccall "libparetopo_c".paretopo_message(status::Cint)::Cstring))
    return volume[]
end

println(hypervolume([1.0 2.0 3.0; 3.0 2.0 1.0], [0.0, 0.0])) # 6.0
