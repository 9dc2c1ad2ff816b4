// A perceptron over the points of sets, of which maxima are left, and distances to codes: no more of a layer is in memory
// than blocks of rows, in places that values share.
// RUN: kiln opt %s --stage=schedule | FileCheck %s
// RUN: kiln opt %s --stage=memory | FileCheck %s --check-prefix=MEMORY
// RUN: kiln run %s --random 1 --reference --quiet

// CHECK: row chain
// CHECK-NEXT: blocks of {{[0-9]+}} groups of rows, {{[0-9]+}} tasks
// CHECK-NEXT: value 0 at 0, 65536 bytes of a group
// CHECK-NEXT: value 1 at {{.*}}, 262144 bytes of a group
// CHECK-NEXT: product of 256 rows of a group
// CHECK-NEXT: product of 256 rows of a group
// CHECK: kernel
// CHECK: row chain
// CHECK: product of 1 rows of a group

// MEMORY: arena: 32768 bytes
module @chains {
  func.func @main(%points: tensor<16x512x3xf32>, %a: tensor<3x64xf32>, %b: tensor<64x256xf32>, %x: tensor<1024x128xf32>, %m: tensor<128x256xf32>) -> (tensor<16x256xf32>, tensor<1024xf32>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<16x512x64xf32>
    %first = stablehlo.dot_general %points, %a, contracting_dims = [2] x [0] : (tensor<16x512x3xf32>, tensor<3x64xf32>) -> tensor<16x512x64xf32>
    %active = stablehlo.maximum %first, %zeros : tensor<16x512x64xf32>
    %second = stablehlo.dot_general %active, %b, contracting_dims = [2] x [0] : (tensor<16x512x64xf32>, tensor<64x256xf32>) -> tensor<16x512x256xf32>
    %best = stablehlo.reduce(%second init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<16x512x256xf32>, tensor<f32>) -> tensor<16x256xf32>
    %products = stablehlo.dot_general %x, %m, contracting_dims = [1] x [0] : (tensor<1024x128xf32>, tensor<128x256xf32>) -> tensor<1024x256xf32>
    %squares = stablehlo.multiply %products, %products : tensor<1024x256xf32>
    %norms = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<1024x256xf32>, tensor<f32>) -> tensor<1024xf32>
    return %best, %norms : tensor<16x256xf32>, tensor<1024xf32>
  }
}
