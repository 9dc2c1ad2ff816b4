module @entry attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%a: tensor<2x3xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<2x3xf32> {jax.buffer_donor = true, mhlo.layout_mode = "{0,1}"}, %c: tensor<f32> {mhlo.memory_kind = "pinned_host", mhlo.layout_mode = "default"}) -> (tensor<2x3xf32> {jax.result_info = "sum", mhlo.layout_mode = "{0,1}"}, tensor<2x3xf32> {jax.result_info = "['x']", mhlo.memory_kind = "device"}) {
    %0 = stablehlo.add %a, %b : tensor<2x3xf32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    return %0, %1 : tensor<2x3xf32>, tensor<2x3xf32>
  }
}
