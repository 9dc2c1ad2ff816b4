#include "src/frontend/mlir/vhlo_ops.h"

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace kiln::mlir {
namespace {

// Ops of the same regions (-1: any number) and inherent attributes, these in the order of the op's properties. An op of
// StableHLO has its name in VHLO without the version in the op tree, one of func (func and call) as well.
struct Family {
  absl::string_view names;
  int regions;
  absl::string_view attributes;
};
constexpr Family kFamilies[] = {
    {"abs_v1 add_v1 after_all_v1 and_v1 async_done_v1 atan2_v1 bitcast_convert_v1 cbrt_v1 ceil_v1 clamp_v1 "
     "complex_v1 convert_v1 cosine_v1 count_leading_zeros_v1 create_token_v1 divide_v1 dynamic_pad_v1 "
     "dynamic_reshape_v1 dynamic_update_slice_v1 exponential_minus_one_v1 exponential_v1 floor_v1 fma_v1 imag_v1 "
     "is_finite_v1 log_plus_one_v1 log_v1 logistic_v1 maximum_v1 minimum_v1 multiply_v1 negate_v1 not_v1 "
     "optimization_barrier_v1 or_v1 partition_id_v1 popcnt_v1 power_v1 real_dynamic_slice_v1 real_v1 remainder_v1 "
     "replica_id_v1 reshape_v1 return_v1 round_nearest_afz_v1 round_nearest_even_v1 rsqrt_v1 select_v1 shift_left_v1 "
     "shift_right_arithmetic_v1 shift_right_logical_v1 sign_v1 sine_v1 sqrt_v1 subtract_v1 tan_v1 tanh_v1 tuple_v1 "
     "uniform_dequantize_v1 uniform_quantize_v1 xor_v1",
     0, ""},
    {"async_start_v1", 1, ""},
    {"case_v1", -1, ""},
    {"cbrt_v2 cosine_v2 exp2_v1 exponential_minus_one_v2 exponential_v2 log2_v1 log_plus_one_v2 log_v2 logistic_v2 "
     "rsqrt_v2 sine_v2 sqrt_v2 tan_v2 tanh_v2",
     0, "result_accuracy"},
    {"if_v1 while_v1", 2, ""},
    {"all_gather_v1 all_gather_v2", 0, "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v1 all_reduce_v2", 1, "channel_id replica_groups use_global_device_ids"},
    {"all_to_all_v1 all_to_all_v2", 0, "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"batch_norm_grad_v1 batch_norm_inference_v1 batch_norm_training_v1", 0, "epsilon feature_index"},
    {"broadcast_in_dim_v1", 0, "broadcast_dimensions"},
    {"broadcast_v1", 0, "broadcast_sizes"},
    {"call_v1", 0, "callee"},
    {"cholesky_v1", 0, "lower"},
    {"collective_broadcast_v1", 0, "channel_id replica_groups"},
    {"collective_broadcast_v2", 0, "channel_id has_dynamic_root replica_groups"},
    {"collective_permute_v1", 0, "channel_id source_target_pairs"},
    {"collective_reduce_v1", 1, "channel_id has_dynamic_root replica_groups use_global_device_ids"},
    {"compare_v1", 0, "compare_type comparison_direction"},
    {"composite_v1", 0, "composite_attributes decomposition name version"},
    {"composite_v2", -1, "composite_attributes decomposition name version"},
    {"concatenate_v1 get_dimension_size_v1 set_dimension_size_v1", 0, "dimension"},
    {"constant_v1", 0, "value"},
    {"convolution_v1 dynamic_conv_v1", 0,
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions padding precision_config "
     "rhs_dilation window_reversal window_strides"},
    {"cross-replica-sum_v1", 0, "replica_groups"},
    {"custom_call_v1", 0,
     "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
     "output_operand_aliases result_layouts"},
    {"custom_call_v2", 0,
     "api_version backend_config call_target_name called_computations has_side_effect operand_layouts "
     "output_operand_aliases result_layouts result_tilings"},
    {"dot_general_v1", 0,
     "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
     "rhs_contracting_dimensions"},
    {"dot_general_v2", 0,
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config "
     "rhs_batching_dimensions rhs_component_count rhs_contracting_dimensions rhs_precision_type"},
    {"dot_v1", 0, "precision_config"},
    {"dynamic_broadcast_in_dim_v1", 0, "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"},
    {"dynamic_conv_v2", 0,
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions precision_config rhs_dilation "
     "window_reversal window_strides"},
    {"dynamic_gather_v1", 0, "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"},
    {"dynamic_gather_v2", 0,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims start_index_map "
     "start_indices_batching_dims"},
    {"dynamic_iota_v1 iota_v1", 0, "iota_dimension"},
    {"dynamic_slice_v1", 0, "slice_sizes"},
    {"einsum_v1 unary_einsum_v1", 0, "einsum_config"},
    {"fft_v1", 0, "fft_length fft_type"},
    {"func_v1", 1, "arg_attrs function_type res_attrs sym_name sym_visibility"},
    {"gather_v1", 0,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes start_index_map"},
    {"gather_v2", 0,
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims slice_sizes "
     "start_index_map start_indices_batching_dims"},
    {"get_tuple_element_v1", 0, "index"},
    {"infeed_v1", 0, "infeed_config layout"},
    {"map_v1 reduce_v1", 1, "dimensions"},
    {"outfeed_v1", 0, "outfeed_config"},
    {"pad_v1", 0, "edge_padding_high edge_padding_low interior_padding"},
    {"recv_v1 send_v1", 0, "channel_id channel_type is_host_transfer"},
    {"recv_v2 send_v2", 0, "channel_id channel_type is_host_transfer source_target_pairs"},
    {"reduce_precision_v1", 0, "exponent_bits mantissa_bits"},
    {"reduce_scatter_v1", 1, "channel_id replica_groups scatter_dimension use_global_device_ids"},
    {"reduce_window_v1", 1, "base_dilations padding window_dilations window_dimensions window_strides"},
    {"reverse_v1", 0, "dimensions"},
    {"rng_bit_generator_v1", 0, "rng_algorithm"},
    {"rng_v1", 0, "rng_distribution"},
    {"scatter_v1", 1,
     "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims unique_indices "
     "update_window_dims"},
    {"scatter_v2", 1,
     "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims scatter_dims_to_operand_dims "
     "scatter_indices_batching_dims unique_indices update_window_dims"},
    {"select_and_scatter_v1", 2, "padding window_dimensions window_strides"},
    {"slice_v1", 0, "limit_indices start_indices strides"},
    {"sort_v1", 1, "dimension is_stable"},
    {"torch_index_select_v1", 0, "batch_dims dim"},
    {"transpose_v1", 0, "permutation"},
    {"triangular_solve_v1", 0, "left_side lower transpose_a unit_diagonal"},
};

// Ops of other dialects that stand in portable artifacts. A question mark: the property is optional.
constexpr VhloOp kForeignOps[] = {
    {"builtin.module", "builtin.module", 1, "sym_name? sym_visibility?"},
    {"builtin.unrealized_conversion_cast", "builtin.unrealized_conversion_cast", 0, ""},
    {"sdy.manual_computation", "sdy.manual_computation", 1, "in_shardings manual_axes out_shardings"},
    {"sdy.mesh", "sdy.mesh", 0, "mesh sym_name"},
    {"sdy.return", "sdy.return", 0, ""},
    {"sdy.sharding_constraint", "sdy.sharding_constraint", 0, "sharding"},
};

const VhloOp* FindIn(absl::Span<const VhloOp> ops, absl::string_view name) {
  const auto found = std::lower_bound(ops.begin(), ops.end(), name,
                                      [](const VhloOp& op, absl::string_view other) { return op.name < other; });
  return found != ops.end() && found->name == name ? &*found : nullptr;
}

}  // namespace

absl::Span<const VhloOp> VhloOps() {
  static const auto* const kAll = [] {
    auto* ops = new std::vector<VhloOp>();
    static auto* const names = new std::deque<std::string>();  // Rows point to them.
    for (const Family& family : kFamilies) {
      for (absl::string_view name : absl::StrSplit(family.names, ' ')) {
        const absl::string_view base = name.substr(0, name.rfind("_v"));
        names->push_back(absl::StrCat(base == "func" || base == "call" ? "func." : "stablehlo.", base));
        ops->push_back({name, names->back(), family.regions, family.attributes});
      }
    }
    std::sort(ops->begin(), ops->end(), [](const VhloOp& a, const VhloOp& b) { return a.name < b.name; });
    return ops;
  }();
  return *kAll;
}

const VhloOp* FindVhloOp(absl::string_view name) { return FindIn(VhloOps(), name); }
const VhloOp* FindForeignOp(absl::string_view name) { return FindIn(kForeignOps, name); }

}  // namespace kiln::mlir
