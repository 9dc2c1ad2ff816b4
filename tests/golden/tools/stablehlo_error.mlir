// Errors of StableHLO text say where.
// RUN: not kiln opt %s 2>&1 | FileCheck %s
// CHECK: kiln: {{.*}}stablehlo_error.mlir:7:29: the value %b is not defined before
// CHECK-NEXT:     %0 = stablehlo.add %a, %b : tensor<2xf32>
// CHECK-NEXT: {{^ *\^}}
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
     %0 = stablehlo.add %a, %b : tensor<2xf32>
  return %0 : tensor<2xf32>
}
