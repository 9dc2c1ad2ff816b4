module @quantized {
  func.func public @main(%x: tensor<2x4xf32>, %w: tensor<4x3x!quant.uniform<i8:f32:1, {0.5:0, 0.25:0, 0.125:0}>>) -> (tensor<2x3x!quant.uniform<i8:f32, 1.0:-3>>, tensor<2x4xf32>, tensor<4x2x!quant.uniform<u4:bf16, 0.5:7>>) {
    %q = stablehlo.uniform_quantize %x : (tensor<2x4xf32>) -> tensor<2x4x!quant.uniform<i8:f32, 0.5:2>>
    %c = stablehlo.constant() {value = dense<5> : tensor<2x4xi8>} : () -> tensor<2x4x!quant.uniform<i8:f32, 0.5:2>>
    %s = stablehlo.add %q, %c : tensor<2x4x!quant.uniform<i8:f32, 0.5:2>>
    %d = stablehlo.dot_general %s, %w, contracting_dims = [1] x [0] : (tensor<2x4x!quant.uniform<i8:f32, 0.5:2>>, tensor<4x3x!quant.uniform<i8:f32:1, {0.5:0, 0.25:0, 0.125:0}>>) -> tensor<2x3x!quant.uniform<i32:f32:1, {0.25:0, 0.125:0, 0.0625:0}>>
    %n = stablehlo.uniform_quantize %d : (tensor<2x3x!quant.uniform<i32:f32:1, {0.25:0, 0.125:0, 0.0625:0}>>) -> tensor<2x3x!quant.uniform<i8:f32, 1.0:-3>>
    %m = stablehlo.maximum %s, %q : tensor<2x4x!quant.uniform<i8:f32, 0.5:2>>
    %f = stablehlo.uniform_dequantize %m : (tensor<2x4x!quant.uniform<i8:f32, 0.5:2>>) -> tensor<2x4xf32>
    %b = stablehlo.convert %f : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    %u = stablehlo.uniform_quantize %b : (tensor<2x4xbf16>) -> tensor<2x4x!quant.uniform<u4:bf16, 0.5:7>>
    %t = stablehlo.transpose %u, dims = [1, 0] : (tensor<2x4x!quant.uniform<u4:bf16, 0.5:7>>) -> tensor<4x2x!quant.uniform<u4:bf16, 0.5:7>>
    return %n, %f, %t : tensor<2x3x!quant.uniform<i8:f32, 1.0:-3>>, tensor<2x4xf32>, tensor<4x2x!quant.uniform<u4:bf16, 0.5:7>>
  }
}
