module @open_dimension {
  func.func public @main(%a: tensor<?xf32>) -> tensor<?xf32> {
    %0 = stablehlo.negate %a : tensor<?xf32>
    return %0 : tensor<?xf32>
  }
}
