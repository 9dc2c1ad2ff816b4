module @nested_loops {
  func.func public @main(%n: tensor<i32>, %s: tensor<f32>) -> tensor<f32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    // 1, 1.5, 2, ... in the artifact
    %big = stablehlo.constant dense<"0x..."> : tensor<300xf32>
    %0:2 = stablehlo.while(%i = %zero, %x = %s) : tensor<i32>, tensor<f32>
    cond {
      %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2:2 = stablehlo.while(%j = %zero, %y = %x) : tensor<i32>, tensor<f32>
      cond {
        %4 = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %4 : tensor<i1>
      } do {
        %4 = stablehlo.dynamic_slice %big, %j, sizes = [1] : (tensor<300xf32>, tensor<i32>) -> tensor<1xf32>
        %5 = stablehlo.reshape %4 : (tensor<1xf32>) -> tensor<f32>
        %6 = stablehlo.add %y, %5 : tensor<f32>
        %7 = stablehlo.multiply %6, %s : tensor<f32>
        %8 = stablehlo.add %j, %one : tensor<i32>
        stablehlo.return %8, %7 : tensor<i32>, tensor<f32>
      }
      %3 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %3, %2#1 : tensor<i32>, tensor<f32>
    }
    return %0#1 : tensor<f32>
  }
}
