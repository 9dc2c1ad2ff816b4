// RUN: kiln opt %s --passes=associative-scan | FileCheck %s
// What jax.lax.associative_scan makes: a linear recurrence backwards, of which the second part alone is wanted, becomes a
// scan; differences, which are not associative, stay as they are.
// CHECK: %scan{{[.0-9]*}} ([[X0:[a-z.0-9]+]]: f32[2], [[X1:[a-z.0-9]+]]: f32[2], [[C0:[a-z.0-9]+]]: f32[2], [[C1:[a-z.0-9]+]]: f32[2])
// CHECK: %[[SCALED:.*]] = f32[2]{0} multiply(%[[C0]], %[[X1]])
// CHECK: add(%[[SCALED]], %[[X0]])
// CHECK: multiply(%[[C1]], %[[X1]])
// CHECK: ENTRY
// CHECK-NOT: pad(
// CHECK: = s32[17,2]{1,0} iota(), iota_dimension=0
// CHECK: constant(16)
// CHECK: scan({{.*}}), dimensions={0}, num_carries=2, is_reverse=true, is_associative=true
// CHECK-COUNT-8: = f32{{.*}} pad(
module @jit__lambda {
  func.func public @main(%arg0: tensor<17x2xf32>, %arg1: tensor<17x2xf32>, %arg2: tensor<16xf32>) -> (tensor<17x2xf32>, tensor<16xf32>) {
    %0 = stablehlo.reverse %arg0, dims = [0] : tensor<17x2xf32>
    %1 = stablehlo.reverse %arg1, dims = [0] : tensor<17x2xf32>
    %2 = stablehlo.slice %0 [0:16:2, 0:2] : (tensor<17x2xf32>) -> tensor<8x2xf32>
    %3 = stablehlo.slice %1 [0:16:2, 0:2] : (tensor<17x2xf32>) -> tensor<8x2xf32>
    %4 = stablehlo.slice %0 [1:17:2, 0:2] : (tensor<17x2xf32>) -> tensor<8x2xf32>
    %5 = stablehlo.slice %1 [1:17:2, 0:2] : (tensor<17x2xf32>) -> tensor<8x2xf32>
    %6 = stablehlo.multiply %2, %4 : tensor<8x2xf32>
    %7 = stablehlo.multiply %3, %4 : tensor<8x2xf32>
    %8 = stablehlo.add %7, %5 : tensor<8x2xf32>
    %9 = stablehlo.slice %6 [0:7:2, 0:2] : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %10 = stablehlo.slice %8 [0:7:2, 0:2] : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %11 = stablehlo.slice %6 [1:8:2, 0:2] : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %12 = stablehlo.slice %8 [1:8:2, 0:2] : (tensor<8x2xf32>) -> tensor<4x2xf32>
    %13 = stablehlo.multiply %9, %11 : tensor<4x2xf32>
    %14 = stablehlo.multiply %10, %11 : tensor<4x2xf32>
    %15 = stablehlo.add %14, %12 : tensor<4x2xf32>
    %16 = stablehlo.slice %13 [0:3:2, 0:2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %17 = stablehlo.slice %15 [0:3:2, 0:2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %18 = stablehlo.slice %13 [1:4:2, 0:2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %19 = stablehlo.slice %15 [1:4:2, 0:2] : (tensor<4x2xf32>) -> tensor<2x2xf32>
    %20 = stablehlo.multiply %16, %18 : tensor<2x2xf32>
    %21 = stablehlo.multiply %17, %18 : tensor<2x2xf32>
    %22 = stablehlo.add %21, %19 : tensor<2x2xf32>
    %23 = stablehlo.slice %22 [0:1:2, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %24 = stablehlo.slice %20 [1:2:2, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %25 = stablehlo.slice %22 [1:2:2, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %26 = stablehlo.multiply %23, %24 : tensor<1x2xf32>
    %27 = stablehlo.add %26, %25 : tensor<1x2xf32>
    %28 = stablehlo.slice %27 [0:0, 0:2] : (tensor<1x2xf32>) -> tensor<0x2xf32>
    %29 = stablehlo.slice %20 [2:2:2, 0:2] : (tensor<2x2xf32>) -> tensor<0x2xf32>
    %30 = stablehlo.slice %22 [2:2:2, 0:2] : (tensor<2x2xf32>) -> tensor<0x2xf32>
    %31 = stablehlo.multiply %28, %29 : tensor<0x2xf32>
    %32 = stablehlo.add %31, %30 : tensor<0x2xf32>
    %33 = stablehlo.slice %22 [0:1, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %34 = stablehlo.concatenate %33, %32, dim = 0 : (tensor<1x2xf32>, tensor<0x2xf32>) -> tensor<1x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %35 = stablehlo.pad %34, %cst, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.pad %27, %cst_0, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<1x2xf32>, tensor<f32>) -> tensor<2x2xf32>
    %37 = stablehlo.add %35, %36 : tensor<2x2xf32>
    %38 = stablehlo.slice %37 [0:1, 0:2] : (tensor<2x2xf32>) -> tensor<1x2xf32>
    %39 = stablehlo.slice %13 [2:4:2, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %40 = stablehlo.slice %15 [2:4:2, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %41 = stablehlo.multiply %38, %39 : tensor<1x2xf32>
    %42 = stablehlo.add %41, %40 : tensor<1x2xf32>
    %43 = stablehlo.slice %15 [0:1, 0:2] : (tensor<4x2xf32>) -> tensor<1x2xf32>
    %44 = stablehlo.concatenate %43, %42, dim = 0 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<2x2xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.pad %44, %cst_1, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.pad %37, %cst_2, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<4x2xf32>
    %47 = stablehlo.add %45, %46 : tensor<4x2xf32>
    %48 = stablehlo.slice %47 [0:3, 0:2] : (tensor<4x2xf32>) -> tensor<3x2xf32>
    %49 = stablehlo.slice %6 [2:8:2, 0:2] : (tensor<8x2xf32>) -> tensor<3x2xf32>
    %50 = stablehlo.slice %8 [2:8:2, 0:2] : (tensor<8x2xf32>) -> tensor<3x2xf32>
    %51 = stablehlo.multiply %48, %49 : tensor<3x2xf32>
    %52 = stablehlo.add %51, %50 : tensor<3x2xf32>
    %53 = stablehlo.slice %8 [0:1, 0:2] : (tensor<8x2xf32>) -> tensor<1x2xf32>
    %54 = stablehlo.concatenate %53, %52, dim = 0 : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %55 = stablehlo.pad %54, %cst_3, low = [0, 0], high = [1, 0], interior = [1, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<8x2xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.pad %47, %cst_4, low = [1, 0], high = [0, 0], interior = [1, 0] : (tensor<4x2xf32>, tensor<f32>) -> tensor<8x2xf32>
    %57 = stablehlo.add %55, %56 : tensor<8x2xf32>
    %58 = stablehlo.slice %0 [2:17:2, 0:2] : (tensor<17x2xf32>) -> tensor<8x2xf32>
    %59 = stablehlo.slice %1 [2:17:2, 0:2] : (tensor<17x2xf32>) -> tensor<8x2xf32>
    %60 = stablehlo.multiply %57, %58 : tensor<8x2xf32>
    %61 = stablehlo.add %60, %59 : tensor<8x2xf32>
    %62 = stablehlo.slice %1 [0:1, 0:2] : (tensor<17x2xf32>) -> tensor<1x2xf32>
    %63 = stablehlo.concatenate %62, %61, dim = 0 : (tensor<1x2xf32>, tensor<8x2xf32>) -> tensor<9x2xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %64 = stablehlo.pad %63, %cst_5, low = [0, 0], high = [0, 0], interior = [1, 0] : (tensor<9x2xf32>, tensor<f32>) -> tensor<17x2xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %65 = stablehlo.pad %57, %cst_6, low = [1, 0], high = [1, 0], interior = [1, 0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<17x2xf32>
    %66 = stablehlo.add %64, %65 : tensor<17x2xf32>
    %67 = stablehlo.reverse %66, dims = [0] : tensor<17x2xf32>
    %68 = stablehlo.slice %arg2 [0:15:2] : (tensor<16xf32>) -> tensor<8xf32>
    %69 = stablehlo.slice %arg2 [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
    %70 = stablehlo.subtract %68, %69 : tensor<8xf32>
    %71 = stablehlo.slice %70 [0:7:2] : (tensor<8xf32>) -> tensor<4xf32>
    %72 = stablehlo.slice %70 [1:8:2] : (tensor<8xf32>) -> tensor<4xf32>
    %73 = stablehlo.subtract %71, %72 : tensor<4xf32>
    %74 = stablehlo.slice %73 [0:3:2] : (tensor<4xf32>) -> tensor<2xf32>
    %75 = stablehlo.slice %73 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
    %76 = stablehlo.subtract %74, %75 : tensor<2xf32>
    %77 = stablehlo.slice %76 [0:1:2] : (tensor<2xf32>) -> tensor<1xf32>
    %78 = stablehlo.slice %76 [1:2:2] : (tensor<2xf32>) -> tensor<1xf32>
    %79 = stablehlo.subtract %77, %78 : tensor<1xf32>
    %80 = stablehlo.slice %79 [0:0] : (tensor<1xf32>) -> tensor<0xf32>
    %81 = stablehlo.slice %76 [2:2:2] : (tensor<2xf32>) -> tensor<0xf32>
    %82 = stablehlo.subtract %80, %81 : tensor<0xf32>
    %83 = stablehlo.slice %76 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %84 = stablehlo.concatenate %83, %82, dim = 0 : (tensor<1xf32>, tensor<0xf32>) -> tensor<1xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %85 = stablehlo.pad %84, %cst_7, low = [0], high = [1], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %86 = stablehlo.pad %79, %cst_8, low = [1], high = [0], interior = [1] : (tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
    %87 = stablehlo.add %85, %86 : tensor<2xf32>
    %88 = stablehlo.slice %87 [0:1] : (tensor<2xf32>) -> tensor<1xf32>
    %89 = stablehlo.slice %73 [2:4:2] : (tensor<4xf32>) -> tensor<1xf32>
    %90 = stablehlo.subtract %88, %89 : tensor<1xf32>
    %91 = stablehlo.slice %73 [0:1] : (tensor<4xf32>) -> tensor<1xf32>
    %92 = stablehlo.concatenate %91, %90, dim = 0 : (tensor<1xf32>, tensor<1xf32>) -> tensor<2xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %93 = stablehlo.pad %92, %cst_9, low = [0], high = [1], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %94 = stablehlo.pad %87, %cst_10, low = [1], high = [0], interior = [1] : (tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
    %95 = stablehlo.add %93, %94 : tensor<4xf32>
    %96 = stablehlo.slice %95 [0:3] : (tensor<4xf32>) -> tensor<3xf32>
    %97 = stablehlo.slice %70 [2:8:2] : (tensor<8xf32>) -> tensor<3xf32>
    %98 = stablehlo.subtract %96, %97 : tensor<3xf32>
    %99 = stablehlo.slice %70 [0:1] : (tensor<8xf32>) -> tensor<1xf32>
    %100 = stablehlo.concatenate %99, %98, dim = 0 : (tensor<1xf32>, tensor<3xf32>) -> tensor<4xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %101 = stablehlo.pad %100, %cst_11, low = [0], high = [1], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %102 = stablehlo.pad %95, %cst_12, low = [1], high = [0], interior = [1] : (tensor<4xf32>, tensor<f32>) -> tensor<8xf32>
    %103 = stablehlo.add %101, %102 : tensor<8xf32>
    %104 = stablehlo.slice %103 [0:7] : (tensor<8xf32>) -> tensor<7xf32>
    %105 = stablehlo.slice %arg2 [2:16:2] : (tensor<16xf32>) -> tensor<7xf32>
    %106 = stablehlo.subtract %104, %105 : tensor<7xf32>
    %107 = stablehlo.slice %arg2 [0:1] : (tensor<16xf32>) -> tensor<1xf32>
    %108 = stablehlo.concatenate %107, %106, dim = 0 : (tensor<1xf32>, tensor<7xf32>) -> tensor<8xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %109 = stablehlo.pad %108, %cst_13, low = [0], high = [1], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %110 = stablehlo.pad %103, %cst_14, low = [1], high = [0], interior = [1] : (tensor<8xf32>, tensor<f32>) -> tensor<16xf32>
    %111 = stablehlo.add %109, %110 : tensor<16xf32>
    return %67, %111 : tensor<17x2xf32>, tensor<16xf32>
  }
}
