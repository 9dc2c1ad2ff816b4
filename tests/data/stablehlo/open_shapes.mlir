module @open_shapes {
  func.func public @main(%x: tensor<3x4xf32>) -> tensor<?xf32> {
    %o = stablehlo.convert %x : (tensor<3x4xf32>) -> tensor<?x4xf32>
    %n = stablehlo.get_dimension_size %o, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %ok = stablehlo.compare GE, %n, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%ok, %n) {api_version = 2 : i32, error_message = "too few rows: {0}", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %r = func.call @inner(%n, %o) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?xf32>
    return %r : tensor<?xf32>
  }
  func.func private @inner(%n: tensor<i32>, %x: tensor<?x4xf32>) -> tensor<?xf32> {
    %four = stablehlo.constant dense<4> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %i:2 = stablehlo.while(%k = %zero, %y = %x) : tensor<i32>, tensor<?x4xf32> cond {
      %p = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %k, %one : tensor<i32>
      %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %four1 = stablehlo.constant dense<4> : tensor<1xi32>
      %shape = stablehlo.concatenate %n1, %four1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %iota = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi32>) -> tensor<?x4xf32>
      %z = stablehlo.add %y, %iota : tensor<?x4xf32>
      stablehlo.return %j, %z : tensor<i32>, tensor<?x4xf32>
    }
    %m = stablehlo.multiply %n, %four : tensor<i32>
    %flat = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
    %r = stablehlo.dynamic_reshape %i#1, %flat : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>
    return %r : tensor<?xf32>
  }
}
