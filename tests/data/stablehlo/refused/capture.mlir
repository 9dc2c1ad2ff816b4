module @capture {
  func.func public @main(%a: tensor<4xf32>, %s: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.reduce"(%a, %s) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %1 = stablehlo.add %x, %y : tensor<f32> loc("inner"("model.py":7:3))
      %2 = stablehlo.multiply %1, %s : tensor<f32> loc("scaled"("model.py":8:5))
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
