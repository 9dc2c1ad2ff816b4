#include "src/frontend/mlir/vhlo_ops.h"

#include <algorithm>
#include <array>

namespace kiln::mlir {
namespace {

// Sorted by name. Columns: versioned name, name in the op tree, number of regions (-1: any), inherent attributes in the
// order of the op's properties.
constexpr std::array<VhloOp, 148> kOps = {{
    {"abs_v1", "stablehlo.abs", 0, ""},
    {"add_v1", "stablehlo.add", 0, ""},
    {"after_all_v1", "stablehlo.after_all", 0, ""},
    {"all_gather_v1", "stablehlo.all_gather", 0, "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_gather_v2", "stablehlo.all_gather", 0, "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v1", "stablehlo.all_reduce", 1, "channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v2", "stablehlo.all_reduce", 1, "channel_id replica_groups use_global_device_ids"},
    {"all_to_all_v1", "stablehlo.all_to_all", 0,
     "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"all_to_all_v2", "stablehlo.all_to_all", 0,
     "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"and_v1", "stablehlo.and", 0, ""},
    {"async_done_v1", "stablehlo.async_done", 0, ""},
    {"async_start_v1", "stablehlo.async_start", 1, ""},
    {"atan2_v1", "stablehlo.atan2", 0, ""},
    {"batch_norm_grad_v1", "stablehlo.batch_norm_grad", 0, "epsilon feature_index"},
    {"batch_norm_inference_v1", "stablehlo.batch_norm_inference", 0, "epsilon feature_index"},
    {"batch_norm_training_v1", "stablehlo.batch_norm_training", 0, "epsilon feature_index"},
    {"bitcast_convert_v1", "stablehlo.bitcast_convert", 0, ""},
    {"broadcast_in_dim_v1", "stablehlo.broadcast_in_dim", 0, "broadcast_dimensions"},
    {"broadcast_v1", "stablehlo.broadcast", 0, "broadcast_sizes"},
    {"call_v1", "func.call", 0, "callee"},
    {"case_v1", "stablehlo.case", -1, ""},
    {"cbrt_v1", "stablehlo.cbrt", 0, ""},
    {"cbrt_v2", "stablehlo.cbrt", 0, "result_accuracy"},
    {"ceil_v1", "stablehlo.ceil", 0, ""},
    {"cholesky_v1", "stablehlo.cholesky", 0, "lower"},
    {"clamp_v1", "stablehlo.clamp", 0, ""},
    {"collective_broadcast_v1", "stablehlo.collective_broadcast", 0, "channel_id replica_groups"},
    {"collective_broadcast_v2", "stablehlo.collective_broadcast", 0, "channel_id has_dynamic_root replica_groups"},
    {"collective_permute_v1", "stablehlo.collective_permute", 0, "channel_id source_target_pairs"},
    {"collective_reduce_v1", "stablehlo.collective_reduce", 1,
     "channel_id has_dynamic_root replica_groups use_global_device_ids"},
    {"compare_v1", "stablehlo.compare", 0, "compare_type comparison_direction"},
    {"complex_v1", "stablehlo.complex", 0, ""},
    {"composite_v1", "stablehlo.composite", 0, "composite_attributes decomposition name version"},
    {"composite_v2", "stablehlo.composite", -1, "composite_attributes decomposition name version"},
    {"concatenate_v1", "stablehlo.concatenate", 0, "dimension"},
    {"constant_v1", "stablehlo.constant", 0, "value"},
    {"convert_v1", "stablehlo.convert", 0, ""},
    {"convolution_v1", "stablehlo.convolution", 0,
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions padding precision_config rhs_dilation window_reversal window_strides"},
    {"cosine_v1", "stablehlo.cosine", 0, ""},
    {"cosine_v2", "stablehlo.cosine", 0, "result_accuracy"},
    {"count_leading_zeros_v1", "stablehlo.count_leading_zeros", 0, ""},
    {"create_token_v1", "stablehlo.create_token", 0, ""},
    {"cross-replica-sum_v1", "stablehlo.cross-replica-sum", 0, "replica_groups"},
    {"custom_call_v1", "stablehlo.custom_call", 0,
     "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
     "output_operand_aliases result_layouts"},
    {"custom_call_v2", "stablehlo.custom_call", 0,
     "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
     "output_operand_aliases result_layouts result_tilings"},
    {"divide_v1", "stablehlo.divide", 0, ""},
    {"dot_general_v1", "stablehlo.dot_general", 0,
     "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
     "rhs_contracting_dimensions"},
    {"dot_general_v2", "stablehlo.dot_general", 0,
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config "
     "rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type"},
    {"dot_v1", "stablehlo.dot", 0, "precision_config"},
    {"dynamic_broadcast_in_dim_v1", "stablehlo.dynamic_broadcast_in_dim", 0,
     "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"},
    {"dynamic_conv_v1", "stablehlo.dynamic_conv", 0,
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions padding precision_config rhs_dilation window_reversal window_strides"},
    {"dynamic_conv_v2", "stablehlo.dynamic_conv", 0,
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
     "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
     "output_spatial_dimensions precision_config rhs_dilation window_reversal window_strides"},
    {"dynamic_gather_v1", "stablehlo.dynamic_gather", 0,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"},
    {"dynamic_gather_v2", "stablehlo.dynamic_gather", 0,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims "
     "start_index_map start_indices_batching_dims"},
    {"dynamic_iota_v1", "stablehlo.dynamic_iota", 0, "iota_dimension"},
    {"dynamic_pad_v1", "stablehlo.dynamic_pad", 0, ""},
    {"dynamic_reshape_v1", "stablehlo.dynamic_reshape", 0, ""},
    {"dynamic_slice_v1", "stablehlo.dynamic_slice", 0, "slice_sizes"},
    {"dynamic_update_slice_v1", "stablehlo.dynamic_update_slice", 0, ""},
    {"einsum_v1", "stablehlo.einsum", 0, "einsum_config"},
    {"exp2_v1", "stablehlo.exp2", 0, "result_accuracy"},
    {"exponential_minus_one_v1", "stablehlo.exponential_minus_one", 0, ""},
    {"exponential_minus_one_v2", "stablehlo.exponential_minus_one", 0, "result_accuracy"},
    {"exponential_v1", "stablehlo.exponential", 0, ""},
    {"exponential_v2", "stablehlo.exponential", 0, "result_accuracy"},
    {"fft_v1", "stablehlo.fft", 0, "fft_length fft_type"},
    {"floor_v1", "stablehlo.floor", 0, ""},
    {"fma_v1", "stablehlo.fma", 0, ""},
    {"func_v1", "func.func", 1, "arg_attrs function_type res_attrs sym_name sym_visibility"},
    {"gather_v1", "stablehlo.gather", 0,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes start_index_map"},
    {"gather_v2", "stablehlo.gather", 0,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims slice_sizes "
     "start_index_map start_indices_batching_dims"},
    {"get_dimension_size_v1", "stablehlo.get_dimension_size", 0, "dimension"},
    {"get_tuple_element_v1", "stablehlo.get_tuple_element", 0, "index"},
    {"if_v1", "stablehlo.if", 2, ""},
    {"imag_v1", "stablehlo.imag", 0, ""},
    {"infeed_v1", "stablehlo.infeed", 0, "infeed_config layout"},
    {"iota_v1", "stablehlo.iota", 0, "iota_dimension"},
    {"is_finite_v1", "stablehlo.is_finite", 0, ""},
    {"log2_v1", "stablehlo.log2", 0, "result_accuracy"},
    {"log_plus_one_v1", "stablehlo.log_plus_one", 0, ""},
    {"log_plus_one_v2", "stablehlo.log_plus_one", 0, "result_accuracy"},
    {"log_v1", "stablehlo.log", 0, ""},
    {"log_v2", "stablehlo.log", 0, "result_accuracy"},
    {"logistic_v1", "stablehlo.logistic", 0, ""},
    {"logistic_v2", "stablehlo.logistic", 0, "result_accuracy"},
    {"map_v1", "stablehlo.map", 1, "dimensions"},
    {"maximum_v1", "stablehlo.maximum", 0, ""},
    {"minimum_v1", "stablehlo.minimum", 0, ""},
    {"multiply_v1", "stablehlo.multiply", 0, ""},
    {"negate_v1", "stablehlo.negate", 0, ""},
    {"not_v1", "stablehlo.not", 0, ""},
    {"optimization_barrier_v1", "stablehlo.optimization_barrier", 0, ""},
    {"or_v1", "stablehlo.or", 0, ""},
    {"outfeed_v1", "stablehlo.outfeed", 0, "outfeed_config"},
    {"pad_v1", "stablehlo.pad", 0, "edge_padding_high edge_padding_low interior_padding"},
    {"partition_id_v1", "stablehlo.partition_id", 0, ""},
    {"popcnt_v1", "stablehlo.popcnt", 0, ""},
    {"power_v1", "stablehlo.power", 0, ""},
    {"real_dynamic_slice_v1", "stablehlo.real_dynamic_slice", 0, ""},
    {"real_v1", "stablehlo.real", 0, ""},
    {"recv_v1", "stablehlo.recv", 0, "channel_id channel_type is_host_transfer"},
    {"recv_v2", "stablehlo.recv", 0, "channel_id channel_type is_host_transfer source_target_pairs"},
    {"reduce_precision_v1", "stablehlo.reduce_precision", 0, "exponent_bits mantissa_bits"},
    {"reduce_scatter_v1", "stablehlo.reduce_scatter", 1,
     "channel_id replica_groups scatter_dimension use_global_device_ids"},
    {"reduce_v1", "stablehlo.reduce", 1, "dimensions"},
    {"reduce_window_v1", "stablehlo.reduce_window", 1,
     "base_dilations padding window_dilations window_dimensions window_strides"},
    {"remainder_v1", "stablehlo.remainder", 0, ""},
    {"replica_id_v1", "stablehlo.replica_id", 0, ""},
    {"reshape_v1", "stablehlo.reshape", 0, ""},
    {"return_v1", "stablehlo.return", 0, ""},
    {"reverse_v1", "stablehlo.reverse", 0, "dimensions"},
    {"rng_bit_generator_v1", "stablehlo.rng_bit_generator", 0, "rng_algorithm"},
    {"rng_v1", "stablehlo.rng", 0, "rng_distribution"},
    {"round_nearest_afz_v1", "stablehlo.round_nearest_afz", 0, ""},
    {"round_nearest_even_v1", "stablehlo.round_nearest_even", 0, ""},
    {"rsqrt_v1", "stablehlo.rsqrt", 0, ""},
    {"rsqrt_v2", "stablehlo.rsqrt", 0, "result_accuracy"},
    {"scatter_v1", "stablehlo.scatter", 1,
     "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims unique_indices "
     "update_window_dims"},
    {"scatter_v2", "stablehlo.scatter", 1,
     "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims scatter_dims_to_operand_dims "
     "scatter_indices_batching_dims unique_indices update_window_dims"},
    {"select_and_scatter_v1", "stablehlo.select_and_scatter", 2, "padding window_dimensions window_strides"},
    {"select_v1", "stablehlo.select", 0, ""},
    {"send_v1", "stablehlo.send", 0, "channel_id channel_type is_host_transfer"},
    {"send_v2", "stablehlo.send", 0, "channel_id channel_type is_host_transfer source_target_pairs"},
    {"set_dimension_size_v1", "stablehlo.set_dimension_size", 0, "dimension"},
    {"shift_left_v1", "stablehlo.shift_left", 0, ""},
    {"shift_right_arithmetic_v1", "stablehlo.shift_right_arithmetic", 0, ""},
    {"shift_right_logical_v1", "stablehlo.shift_right_logical", 0, ""},
    {"sign_v1", "stablehlo.sign", 0, ""},
    {"sine_v1", "stablehlo.sine", 0, ""},
    {"sine_v2", "stablehlo.sine", 0, "result_accuracy"},
    {"slice_v1", "stablehlo.slice", 0, "limit_indices start_indices strides"},
    {"sort_v1", "stablehlo.sort", 1, "dimension is_stable"},
    {"sqrt_v1", "stablehlo.sqrt", 0, ""},
    {"sqrt_v2", "stablehlo.sqrt", 0, "result_accuracy"},
    {"subtract_v1", "stablehlo.subtract", 0, ""},
    {"tan_v1", "stablehlo.tan", 0, ""},
    {"tan_v2", "stablehlo.tan", 0, "result_accuracy"},
    {"tanh_v1", "stablehlo.tanh", 0, ""},
    {"tanh_v2", "stablehlo.tanh", 0, "result_accuracy"},
    {"torch_index_select_v1", "stablehlo.torch_index_select", 0, "batch_dims dim"},
    {"transpose_v1", "stablehlo.transpose", 0, "permutation"},
    {"triangular_solve_v1", "stablehlo.triangular_solve", 0, "left_side lower transpose_a unit_diagonal"},
    {"tuple_v1", "stablehlo.tuple", 0, ""},
    {"unary_einsum_v1", "stablehlo.unary_einsum", 0, "einsum_config"},
    {"uniform_dequantize_v1", "stablehlo.uniform_dequantize", 0, ""},
    {"uniform_quantize_v1", "stablehlo.uniform_quantize", 0, ""},
    {"while_v1", "stablehlo.while", 2, ""},
    {"xor_v1", "stablehlo.xor", 0, ""},
}};

// Ops of other dialects that stand in portable artifacts. A question mark: the property is optional.
constexpr std::array<VhloOp, 6> kForeignOps = {{
    {"builtin.module", "builtin.module", 1, "sym_name? sym_visibility?"},
    {"builtin.unrealized_conversion_cast", "builtin.unrealized_conversion_cast", 0, ""},
    {"sdy.manual_computation", "sdy.manual_computation", 1, "in_shardings manual_axes out_shardings"},
    {"sdy.mesh", "sdy.mesh", 0, "mesh sym_name"},
    {"sdy.return", "sdy.return", 0, ""},
    {"sdy.sharding_constraint", "sdy.sharding_constraint", 0, "sharding"},
}};

template <size_t kSize>
const VhloOp* FindIn(const std::array<VhloOp, kSize>& ops, absl::string_view name) {
  const auto found = std::lower_bound(ops.begin(), ops.end(), name,
                                      [](const VhloOp& op, absl::string_view other) { return op.name < other; });
  return found != ops.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

const VhloOp* FindVhloOp(absl::string_view name) { return FindIn(kOps, name); }
const VhloOp* FindForeignOp(absl::string_view name) { return FindIn(kForeignOps, name); }
absl::Span<const VhloOp> VhloOps() { return kOps; }

}  // namespace kiln::mlir
