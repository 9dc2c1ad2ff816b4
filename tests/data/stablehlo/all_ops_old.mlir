// all_ops.mlir without what is newer than version 0.9.0.
module @all_ops {
  func.func public @main(%x: tensor<2x3xf32>, %i: tensor<4xi32>, %u: tensor<4xui8>, %c: tensor<2xcomplex<f32>>, %s: tensor<f32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<2x3xf32>, tensor<4xi32>) {
    %0 = call @unary(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = call @binary(%0, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = call @integers(%i, %u) : (tensor<4xi32>, tensor<4xui8>) -> tensor<4xi32>
    call @complex_numbers(%c) : (tensor<2xcomplex<f32>>) -> ()
    call @comparisons(%x, %s, %p) : (tensor<2x3xf32>, tensor<f32>, tensor<i1>) -> ()
    call @constants() : () -> ()
    call @shapes(%x, %s, %n) : (tensor<2x3xf32>, tensor<f32>, tensor<i32>) -> ()
    call @contractions() : () -> ()
    call @regions(%x, %s) : (tensor<2x3xf32>, tensor<f32>) -> ()
    call @indexing(%s) : (tensor<f32>) -> ()
    call @control(%n, %p, %s) : (tensor<i32>, tensor<i1>, tensor<f32>) -> ()
    call @calls(%x, %s) : (tensor<2x3xf32>, tensor<f32>) -> ()
    call @transfer(%x, %n) : (tensor<2x3xf32>, tensor<i32>) -> ()
    call @collectives(%x) : (tensor<2x3xf32>) -> ()
    call @linear_algebra(%s) : (tensor<f32>) -> ()
    call @sized(%x) : (tensor<2x3xf32>) -> ()
    return %1, %2 : tensor<2x3xf32>, tensor<4xi32>
  }
  func.func private @unary(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.abs %x : tensor<2x3xf32>
    %1 = stablehlo.cbrt %0 : tensor<2x3xf32>
    %2 = stablehlo.ceil %1 : tensor<2x3xf32>
    %3 = stablehlo.cosine %2 : tensor<2x3xf32>
    %4 = stablehlo.exponential %3 : tensor<2x3xf32>
    %5 = stablehlo.exponential_minus_one %4 : tensor<2x3xf32>
    %6 = stablehlo.floor %5 : tensor<2x3xf32>
    %7 = stablehlo.log %6 : tensor<2x3xf32>
    %8 = stablehlo.log_plus_one %7 : tensor<2x3xf32>
    %9 = stablehlo.logistic %8 : tensor<2x3xf32>
    %10 = stablehlo.negate %9 : tensor<2x3xf32>
    %11 = stablehlo.round_nearest_afz %10 : tensor<2x3xf32>
    %12 = stablehlo.round_nearest_even %11 : tensor<2x3xf32>
    %13 = stablehlo.rsqrt %12 : tensor<2x3xf32>
    %14 = stablehlo.sign %13 : tensor<2x3xf32>
    %15 = stablehlo.sine %14 : tensor<2x3xf32>
    %16 = stablehlo.sqrt %15 : tensor<2x3xf32>
    %17 = stablehlo.sine %16 : tensor<2x3xf32>
    %18 = stablehlo.tanh %17 : tensor<2x3xf32>
    %19 = stablehlo.reduce_precision %18, format = e5m10 : tensor<2x3xf32>
    return %19 : tensor<2x3xf32>
  }
  func.func private @binary(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %x, %y : tensor<2x3xf32>
    %1 = stablehlo.atan2 %0, %y : tensor<2x3xf32>
    %2 = stablehlo.divide %1, %y : tensor<2x3xf32>
    %3 = stablehlo.maximum %2, %y : tensor<2x3xf32>
    %4 = stablehlo.minimum %3, %y : tensor<2x3xf32>
    %5 = stablehlo.multiply %4, %y : tensor<2x3xf32>
    %6 = stablehlo.power %5, %y : tensor<2x3xf32>
    %7 = stablehlo.remainder %6, %y : tensor<2x3xf32>
    %8 = stablehlo.subtract %7, %y : tensor<2x3xf32>
    return %8 : tensor<2x3xf32>
  }
  func.func private @integers(%i: tensor<4xi32>, %u: tensor<4xui8>) -> tensor<4xi32> {
    %0 = stablehlo.and %i, %i : tensor<4xi32>
    %1 = stablehlo.or %0, %i : tensor<4xi32>
    %2 = stablehlo.xor %1, %i : tensor<4xi32>
    %3 = stablehlo.not %2 : tensor<4xi32>
    %4 = stablehlo.popcnt %3 : tensor<4xi32>
    %5 = stablehlo.count_leading_zeros %4 : tensor<4xi32>
    %6 = stablehlo.shift_left %5, %i : tensor<4xi32>
    %7 = stablehlo.shift_right_arithmetic %6, %i : tensor<4xi32>
    %8 = stablehlo.shift_right_logical %7, %i : tensor<4xi32>
    %9 = stablehlo.convert %u : (tensor<4xui8>) -> tensor<4xi32>
    %10 = stablehlo.add %8, %9 : tensor<4xi32>
    return %10 : tensor<4xi32>
  }
  func.func private @complex_numbers(%c: tensor<2xcomplex<f32>>) {
    %0 = stablehlo.real %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %1 = stablehlo.imag %c : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %2 = stablehlo.complex %0, %1 : tensor<2xcomplex<f32>>
    %3 = stablehlo.abs %2 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
    %4 = stablehlo.bitcast_convert %3 : (tensor<2xf32>) -> tensor<2x4xi8>
    return
  }
  func.func private @comparisons(%x: tensor<2x3xf32>, %s: tensor<f32>, %p: tensor<i1>) {
    %0 = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>
    %1 = stablehlo.compare LT, %x, %x, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %2 = stablehlo.compare GE, %x, %x : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %3 = stablehlo.compare EQ, %x, %x, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %4 = stablehlo.select %1, %x, %x : tensor<2x3xi1>, tensor<2x3xf32>
    %5 = stablehlo.select %p, %x, %4 : tensor<i1>, tensor<2x3xf32>
    %6 = stablehlo.clamp %s, %5, %s : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    return
  }
  func.func private @constants() {
    %0 = stablehlo.constant dense<[[1.0, -2.5], [0x7F800000, 3.0e-3]]> : tensor<2x2xf32>
    %1 = stablehlo.constant dense<7> : tensor<3xi32>
    %2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %3 = stablehlo.constant dense<(1.0,-2.0)> : tensor<complex<f32>>
    %4 = stablehlo.constant dense<> : tensor<0xi32>
    %5 = stablehlo.constant dense<[1.5, 0xFF80, 0x7FC0]> : tensor<3xbf16>
    %6 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %7 = stablehlo.constant dense<[1, 2, 255]> : tensor<3xui8>
    %8 = stablehlo.constant dense<true> : tensor<20xi1>
    %9 = stablehlo.constant dense<[true, false, true, true, false, false, true, false, true]> : tensor<9xi1>
    %10 = stablehlo.constant dense<[1.5, -0.5]> : tensor<2xf8E4M3FN>
    %11 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf16>
    %12 = stablehlo.constant dense<[[(1.0,0.0), (0x7F800000,2.0)]]> : tensor<1x2xcomplex<f32>>
    %13 = stablehlo.constant dense<1.0> : tensor<f64>
    %14 = stablehlo.constant dense<true> : tensor<3xi1>
    %15 = stablehlo.constant dense<[-300, 300]> : tensor<2xi16>
    return
  }
  func.func private @shapes(%x: tensor<2x3xf32>, %s: tensor<f32>, %n: tensor<i32>) {
    %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %1 = stablehlo.broadcast_in_dim %x, dims = [2, 1] : (tensor<2x3xf32>) -> tensor<4x3x2xf32>
    %2 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<1x3xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<1x3xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.broadcast %x, sizes = [2] : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
    %5 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
    %6 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %7 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
    %8 = stablehlo.slice %x [0:2:2, 1:3] : (tensor<2x3xf32>) -> tensor<1x2xf32>
    %9 = stablehlo.pad %x, %s, low = [0, 1], high = [2, -1], interior = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<4x5xf32>
    %10 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
    %11 = stablehlo.dynamic_slice %x, %n, %n, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
    %12 = stablehlo.dynamic_update_slice %x, %11, %n, %n : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    return
  }
  func.func private @contractions() {
    %a = stablehlo.constant dense<1.0> : tensor<2x3x4xf32>
    %b = stablehlo.constant dense<2.0> : tensor<2x4x5xf32>
    %m = stablehlo.constant dense<1.0> : tensor<2x3xf32>
    %v = stablehlo.constant dense<1.0> : tensor<3x4xf32>
    %i = stablehlo.constant dense<1.0> : tensor<1x8x8x3xf32>
    %k = stablehlo.constant dense<1.0> : tensor<3x3x3x4xf32>
    %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
    %1 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x2x5xf32>
    %2 = stablehlo.dot %m, %v, precision = [HIGH, DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %3 = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [0, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x6x4xf32>
    return
  }
  func.func private @regions(%x: tensor<2x3xf32>, %s: tensor<f32>) {
    %0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %1:2 = stablehlo.reduce(%x init: %s), (%x init: %s) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<f32>, %d: tensor<f32>)  {
      %6 = stablehlo.maximum %a, %b : tensor<f32>
      %7 = stablehlo.minimum %c, %d : tensor<f32>
      stablehlo.return %6, %7 : tensor<f32>, tensor<f32>
    }
    %2 = "stablehlo.reduce_window"(%x, %s) <{padding = dense<[[1, 0], [0, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %6 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x2xf32>
    %src = stablehlo.constant dense<1.0> : tensor<1x1xf32>
    %3 = "stablehlo.select_and_scatter"(%x, %src, %s) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %6 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %6 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %6 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<1x1xf32>, tensor<f32>) -> tensor<2x3xf32>
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %4 = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %6 = stablehlo.add %a, %b : tensor<f32>
      %7 = stablehlo.multiply %6, %two : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %5:2 = "stablehlo.sort"(%x, %x) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %6 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    }) : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    return
  }
  func.func private @indexing(%s: tensor<f32>) {
    %x = stablehlo.constant dense<1.0> : tensor<5x3xf32>
    %i = stablehlo.constant dense<[[1], [4]]> : tensor<2x1xi32>
    %u = stablehlo.constant dense<1.0> : tensor<2x3xf32>
    %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 3>}> : (tensor<5x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>
    %1 = "stablehlo.scatter"(%x, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %2 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<5x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> tensor<5x3xf32>
    %j = stablehlo.constant dense<[0, 3]> : tensor<2xi32>
    %3 = "stablehlo.torch_index_select"(%x, %j) <{batch_dims = 0 : i64, dim = 0 : i64}> : (tensor<5x3xf32>, tensor<2xi32>) -> tensor<2x3xf32>
    return
  }
  func.func private @control(%n: tensor<i32>, %p: tensor<i1>, %s: tensor<f32>) {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%k = %zero, %v = %s) : tensor<i32>, tensor<f32>
    cond {
      %3 = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %3 = stablehlo.add %k, %one : tensor<i32>
      %4 = stablehlo.multiply %v, %s : tensor<f32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<f32>
    }
    %1 = "stablehlo.case"(%n) ({
      stablehlo.return %s : tensor<f32>
    }, {
      %3 = stablehlo.negate %s : tensor<f32>
      %4 = stablehlo.add %3, %0#1 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }, {
      %3 = stablehlo.constant dense<3.0> : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    %2:2 = "stablehlo.if"(%p) ({
      stablehlo.return %s, %1 : tensor<f32>, tensor<f32>
    }, {
      stablehlo.return %1, %s : tensor<f32>, tensor<f32>
    }) : (tensor<i1>) -> (tensor<f32>, tensor<f32>)
    return
  }
  func.func private @impl(%s: tensor<f32>) -> tensor<f32> {
    return %s : tensor<f32>
  }
  func.func private @erf(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    return %x : tensor<2x3xf32>
  }
  func.func private @calls(%x: tensor<2x3xf32>, %s: tensor<f32>) {
    %2 = stablehlo.custom_call @my_target(%x) {has_side_effect = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %3 = stablehlo.custom_call @old(%x) {backend_config = "opaque", operand_layouts = [dense<[0, 1]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %4:2 = stablehlo.optimization_barrier %x, %s : tensor<2x3xf32>, tensor<f32>
    return
  }
  func.func private @transfer(%x: tensor<2x3xf32>, %n: tensor<i32>) {
    %0 = stablehlo.tuple %x, %n : tuple<tensor<2x3xf32>, tensor<i32>>
    %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2x3xf32>, tensor<i32>>) -> tensor<i32>
    %2 = stablehlo.create_token : !stablehlo.token
    %3 = stablehlo.after_all %2, %2 : !stablehlo.token
    %4:2 = "stablehlo.infeed"(%3) <{infeed_config = "cfg", layout = [[1, 0]]}> : (!stablehlo.token) -> (tensor<2x3xf32>, !stablehlo.token)
    %5 = "stablehlo.outfeed"(%4#0, %4#1) <{outfeed_config = ""}> : (tensor<2x3xf32>, !stablehlo.token) -> !stablehlo.token
    %6 = "stablehlo.send"(%x, %5) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<2x3xf32>, !stablehlo.token) -> !stablehlo.token
    %7:2 = "stablehlo.recv"(%6) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2x3xf32>, !stablehlo.token)
    return
  }
  func.func private @collectives(%x: tensor<2x3xf32>) {
    %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %9 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<4x3xf32>
    %2 = "stablehlo.all_to_all"(%1) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4x3xf32>) -> tensor<2x6xf32>
    %3 = "stablehlo.reduce_scatter"(%1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %9 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<4x3xf32>) -> tensor<2x3xf32>
    %4 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %6 = stablehlo.partition_id : tensor<ui32>
    %7 = stablehlo.replica_id : tensor<ui32>
    %8 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return
  }
  func.func private @linear_algebra(%s: tensor<f32>) {
    %v = stablehlo.constant dense<1.0> : tensor<8xf32>
    %m = stablehlo.constant dense<1.0> : tensor<3x3xf32>
    %b = stablehlo.constant dense<1.0> : tensor<3x2xf32>
    %x = stablehlo.constant dense<1.0> : tensor<2x3xf32>
    %f = stablehlo.constant dense<1.0> : tensor<3xf32>
    %n = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %k = stablehlo.constant dense<[1, 2]> : tensor<2xui64>
    %0 = stablehlo.fft %v, type = RFFT, length = [8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
    %1 = stablehlo.cholesky %m, lower = true : tensor<3x3xf32>
    %2 = "stablehlo.triangular_solve"(%m, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
    %3 = stablehlo.rng %s, %s, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x3xf32>
    %4, %5 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %6, %7, %8 = "stablehlo.batch_norm_training"(%x, %f, %f) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    %9 = "stablehlo.batch_norm_inference"(%x, %f, %f, %f, %f) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %10, %11, %12 = "stablehlo.batch_norm_grad"(%x, %f, %f, %f, %x) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    return
  }
  func.func private @sized(%x: tensor<2x3xf32>) {
    %n = stablehlo.constant dense<1> : tensor<i32>
    %d = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
    %e = stablehlo.constant dense<[3, 2]> : tensor<2xi64>
    %z = stablehlo.constant dense<0> : tensor<2xi64>
    %o = stablehlo.constant dense<1> : tensor<2xi64>
    %s = stablehlo.constant dense<0.0> : tensor<f32>
    %row = stablehlo.constant dense<0.0> : tensor<3xf32>
    %i = stablehlo.constant dense<[[1], [0]]> : tensor<2x1xi32>
    %w = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
    %im = stablehlo.constant dense<1.0> : tensor<1x8x8x3xf32>
    %ke = stablehlo.constant dense<1.0> : tensor<3x3x3x4xf32>
    %pd = stablehlo.constant dense<[[1, 1], [0, 2]]> : tensor<2x2xi32>
    %0 = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<2x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<2, ?>>
    %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x3xf32, #stablehlo.bounds<2, ?>>) -> tensor<i32>
    %2 = stablehlo.dynamic_reshape %x, %e : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<3x2xf32>
    %3 = stablehlo.dynamic_broadcast_in_dim %row, %d, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<2x3xf32>
    %4 = stablehlo.dynamic_iota %d, dim = 0 : (tensor<2xi64>) -> tensor<2x3xi32>
    %5 = stablehlo.dynamic_pad %x, %s, %z, %o, %z : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3x4xf32>
    %6 = stablehlo.real_dynamic_slice %x, %z, %d, %o : (tensor<2x3xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<2x3xf32>
    %7 = "stablehlo.dynamic_gather"(%x, %i, %w) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true}> : (tensor<2x3xf32>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x3xf32>
    %8 = "stablehlo.dynamic_conv"(%im, %ke, %pd) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>, tensor<2x2xi32>) -> tensor<1x8x8x4xf32>
    return
  }
}
