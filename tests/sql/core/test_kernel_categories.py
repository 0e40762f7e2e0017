"""What a kernel counts as: by the operator that launched it, by its name where no operator is known."""

import pytest

from tracelake.lake import Lake

from ...kernel_traces import Trace
from ...lakes import in_one_lake
from .kernel_names import check_categories

# Names as the public code of these libraries compiles them, or as its profiles print them.
NAMES = """
norm      | _fused_reduce_rms_fp8_group_quant_kernel
norm      | _fused_reduce_rms_mxfp4_quant_kernel
indexer   | _ZN5aiter10DecodeTopKL19topk_per_row_decodeILi1024ELb0ELi4EEEvPKfPKiPiiii
indexer   | void vllm::persistent::persistent_topk_kernel<2048, 4u>(vllm::persistent::PersistentTopKParams)
indexer   | _get_k_and_s_triton_kernel
kv_store  | _set_k_and_s_triton_kernel
moe_gemm  | e2e_moe_persistent_kernel
gemm      | _ff_a16w16_fused_gated
moe_routing | void vllm::moe::topkGatingSoftplusSqrt<8, 256, 4, 16, 32, false, int, float>(float const*, bool const*)
activation | void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::softplus_kernel(at::TensorIteratorBase&)>(int)
optimizer | void kOptimizerStatic8bit2StateBlockwise<__nv_bfloat16, 3, 256, 1>(__nv_bfloat16*)
optimizer | void kPreconditionOptimizer32bit2State<float, 3, 4096, 8>(float*)
optimizer | _lion_step_kernel
optimizer | adam_step_kernel
other | dandelion_kernel
optimizer | void at::native::lpnorm_cleanup<float, (at::native::NormType)1, float, float>(float const*, at::native::TensorListAddresses, int)
optimizer | cleanup(float*, float*, float*, float*, bool, int)
quant     | void transformer_engine::delayed_scaling_recipe::amax_and_scale_update_impl::kernel_bulk(float*, transformer_engine::delayed_scaling_recipe::AmaxParams, unsigned long)
quant     | void transformer_engine::(anonymous namespace)::swizzle_col_scaling_kernel<int4, 128, 4>(void const*, void*, int, int)
quant     | void transformer_engine::(anonymous namespace)::multi_tensor_swizzle_row_scaling_kernel<int4, 128, 4>(transformer_engine::(anonymous namespace)::MultiSwizzleArgs)
copy      | void transformer_engine::(anonymous namespace)::multi_padding_kernel<1, __nv_bfloat16>(transformer_engine::(anonymous namespace)::MultiPaddingArgs)
norm      | _dyt_fwd_kernel
norm      | void dyt_kernel<float>(float*, float const*, float)
loss      | _cce_lse_forward_kernel
loss      | _cce_backward_kernel
loss      | _indexed_neg_dot_forward_kernel
loss      | _jsd_kernel
loss      | _tv_distance_kernel
reduce    | void at::native::(anonymous namespace)::weight_norm_fwd_last_dim_kernel<c10::BFloat16, float>(c10::BFloat16*, float*, c10::BFloat16 const*, c10::BFloat16 const*, int, int)
reduce    | void at::native::(anonymous namespace)::weight_norm_bwd_first_dim_kernel<float, float>(float*, float*, float const*, float const*, float const*, float const*, int)
gemm      | XXT_kernel
gemm      | ba_plus_cAA_kernel
loss      | void (anonymous namespace)::cunn_SoftMaxXEntropyForward<8, c10::BFloat16, float, float, (anonymous namespace)::SoftMaxXEntropyForwardEpilogue>(float*, float*, c10::BFloat16 const*, long*, long, float)
loss      | void (anonymous namespace)::cunn_SoftMaxXEntropyBackward<8, c10::BFloat16, float, float, (anonymous namespace)::SoftMaxXEntropyBackwardEpilogue>()
gemm      | void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x6_tn_align8::Params)
gemm      | ampere_bf16_s16816gemm_bf16_128x64_ldg8_relu_f2f_stages_64x4_nn
gemm      | ampere_fp16_s16816gemm_fp16_128x128_ldg8_relu_f2f_stages_32x5_tn
gemm      | turing_fp16_s1688gemm_fp16_128x128_ldg8_relu_f2f_tn
gemm      | volta_fp16_s884gemm_fp16_128x64_ldg8_relu_f2f_nn
gemm      | volta_sgemm_128x64_relu_nn
gemm      | sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_relu_bias_execute_kernel__5x_cublas
gemm      | void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>, cutlass::epilogue::collective::Sm90<cutlass::epilogue::thread::GELU>>>(int)
gemm      | void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::epilogue::thread::LinearCombinationRelu<float>>>(int)
gemm      | _ZN2ck33kernel_gemm_multiple_d_xdl_cshuffleINS_12tensor_operation12element_wise11AddFastGeluE
gemm      | triton_tem_fused_addmm_gelu_3
gemm      | triton_tem_fused_mm_silu_7
gemm      | Cijk_Alik_Bljk_HHS_BH_Bias_A_gelu_UserArgs_MT64x64x64
gemm      | void splitKreduce_kernel<32, 16, int, __nv_bfloat16, __nv_bfloat16, float, __nv_bfloat16, true, true, false>(int)
gemm      | void gemmSN_TN_kernel<float, 128, 16, 2, 4, 4, 4, true, cublasGemvTensorStridedBatched<float const>>(int)
gemm      | flatmm_uk_gfx9_f16f8_128x256x128_1x4x1_16x16x32
gemm      | _ZN7ck_tile6kentryILi1ENS_12FlatmmKernelINS_19TilePartitionerImplEEEEEvT_
gemm      | _qkv_lora_b_kernel
gemm      | _gate_up_lora_b_kernel
gemm      | _sgemm_lora_a_kernel
attention | _ZN5aiter44PA_A16W8_BLK256_1TG_4W_16mx1_64nx4_MTP_PS_PBE
attention | _ZN5aiter42PA_A16W8_BLK1024_1TG_4W_16mx1_64nx4_MTP_PSE
attention | _ZN5aiter26pa_p16_d128_reduce_ps_bf16E
attention | _ZN5aiter34pa_p16_d128_8w_reduce_ps_auto_bf16E
moe_routing | void get_group_gemm_starts<cutlass::float_e4m3_t, cutlass::bfloat16_t, float>(long*, cutlass::float_e4m3_t**)
moe_routing | void __get_group_gemm_starts<cutlass::float_e2m1_t, cutlass::bfloat16_t, cutlass::float_ue4m3_t, float>(int)
moe_routing | void compute_problem_sizes<false>(int const*, int*, int*, int*, long, long, long)
moe_routing | void tensorrt_llm::kernels::cutlass_kernels::computeStridesTmaWarpSpecializedKernel<__nv_bfloat16, __nv_bfloat16>(long const*)
moe_routing | void shuffleInputRowsKernel<__nv_bfloat16>(__nv_bfloat16 const*, int const*, __nv_bfloat16*, long, long, long)
moe_routing | compute_seg_indptr_triton_kernel
moe_gemm | void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int>>>>(int)
quant     | _tma_align_input_scale_kernel
copy      | _pack_seq_kernel
kv_store  | void tensorrt_llm::kernels::loadChunkedKVCacheForMLAKernel<__nv_bfloat16, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*)
communication | void uccl::internode_ll::dispatch<true, false, 7168>(void*, void*, int*, long*, int*)
communication | void uccl::internode::notify_dispatch<false, 8>(int const*)
communication | void uccl::intranode::combine<8, 768, 8192>(int4*)
communication | oneccl_allreduce_pcie<sycl::_V1::detail::half_impl::half, Rt64_128_PCIE>
communication | oneccl_broadcast_large<sycl::_V1::detail::half_impl::half>
communication | oneccl_kernel_memcpy_bytes
communication | oneccl_invoke_barrier
communication | oneccl_pre_operation<float, 4, 16>
moe_gemm  | MoE::GemmCuteName<cutlass::bfloat16_t, cutlass::float_e4m3_t, cutlass::bfloat16_t, (char)82, (char)82>
moe_gemm  | _ZTSN3MoE12GemmCuteNameIN7cutlass10bfloat16_tES2_S2_Lc82ELc82EE
communication | EpDispatchCopyToStaging_bf16
communication | EpCombineSync_bf16
communication | EpCombineSyncBarrier_bf16
communication | EpCombineAll_bf16
communication | void mori::moe::EpCombineSyncBarrier<__hip_bfloat16>(mori::moe::EpDispatchCombineArgs<__hip_bfloat16>)
communication | _ZN4mori3moe13EpCombineSyncI14__hip_bfloat16EEvNS0_21EpDispatchCombineArgsIT_EE
communication | EpDispatchLowLatencyAsyncSendTransfer_bf16
moe_gemm  | gluon_mxfp4_moe_stage1_kernel
moe_gemm  | gluon_mxfp4_moe_stage2_1x2_kernel
moe_routing | gluon_mxfp4_moe_stage2_reduce_kernel
moe_gemm  | _pipelined_moe_kernel_scaled_block_schedule
moe_gemm  | gemm2_a4w4_port_hmax8192_imax8192_bm32_bn128_bk128_atomic_a8_g2ks2_bhoist_apf_spart4x2_v2
moe_gemm  | gemm1_a16w4_port_a16w4_bf16_t32x128x256
gemm      | _gemm_a8w8_blockscale_kernel_GROUP_K_128_GROUP_N_128_BLOCK_SIZE_M_16
rope      | void aiter::kn_entry_2c_sbhd_cached_indirect_inplace<aiter::OpCachedFwd, 0>(float*)
rope      | void kn_entry_1c_thd_cached<OpUncachedFwd, 0>(float*)
gemm      | gluon_mm_mxfp8_gfx950
gemm      | gluon_mm_fp8_blockscale_gfx1250
gemm      | gluon_mm_a16w16_medium_gfx950
attention | gluon_dsv4_prefill_gfx950
attention | gluon_dsv4_decode_reduce_gfx950
indexer   | gluon_dsv41_index_topk_gfx950
indexer   | void vllm::cooperative::cooperative_topk_cs8<512u>(vllm::cooperative::CooperativeTopKParams<512u>)
moe_routing | _dsv4_topk_kernel
moe_routing | _ZN5aiter38router_topk_bf16_e512s1_k8192_top10_m1E
moe_gemm  | _fused_moe_lora_kernel
moe_gemm  | _ZN7ck_tile6kentryILi1ENS_15MoeFlatmmKernelINS_19TilePartitionerImplEEEEEvT_
norm      | at::native::xpu::FusedNormKernel<float>
moe_gemm  | void deep_gemm::sm100_fp8_fp4_mega_moe_impl<256u, 7168u, 2048u, 256u, 8u, 1u>(void*, int*, unsigned int)
moe_gemm  | void deep_gemm::sm90_nvfp4_mega_moe_l1_impl<256u, 7168u>(void*)
moe_gemm  | void gfx950_fp8_fp4_mega_moe_kernel<8, 256>(void*, int*, unsigned int)
moe_gemm  | aclnnMegaMoe_MegaMoe_MegaMoe
moe_gemm  | MoeGmmKernel
moe_gemm  | GmmDeqSwigluQuantGmmDeqN256Kernel
gemm      | MmDeqSwigluQuantMmDeqN128Kernel
attention | MLAKernel
attention | MLAPrefillKernel
rope      | RopeQConcatKernel
topk      | TopKDesc
moe_routing | void (anonymous namespace)::mega_moe_pre_dispatch_kernel<true>(MegaMoEPreDispatchParams)
norm      | void (anonymous namespace)::fused_qknorm_warp<128l, true, __nv_bfloat16>(QKNormParams)
norm      | void (anonymous namespace)::fused_qknorm_cta<512l, true, __half>(QKNormParams)
norm      | _qknorm_across_heads_kernel
rope      | void fused_qknorm_rope_warp<128l, 128l, true, true, __nv_bfloat16, long>(QKNormRopeParams)
rope      | ltx2_qknorm_split_rope_fused_kernel
linear_attention | seg_la_p_kernel
linear_attention | seg_la_s_kernel
linear_attention | seg_la_d_kernel
linear_attention | seg_la_mtp_kernel
linear_attention | seg_la_sum_kernel
linear_attention | _fused_post_conv_kernel
linear_attention | fused_sigmoid_gating_delta_rule_update_kernel
linear_attention | kernel_cutlass_kda_kernel_small_batch_varlen_tensorptrbf16gmem_o1_0
linear_attention | void sglang::kda_packed_decode_kernel<8>(KdaPackedDecodeParams)
linear_attention | fused_kda_conv_gating_verify_kernel
linear_attention | _lfm_short_conv_decode_kernel
linear_attention | LightningAttentionDecode
copy      | fused_qkvzba_split_reshape_cat_contiguous_kernel
linear_attention | _chunk_cumsum_fwd_kernel
linear_attention | _bmm_chunk_fwd_kernel
linear_attention | prepare_wy_repr_bwd_kernel
attention | parallel_nsa_fwd_kernel
attention | parallel_nsa_bwd_kernel_dkv
attention | parallel_nsa_compression_fwd_kernel
moe_gemm  | mfma_moe1_silu_mul_afp4_wfp4_bf16_t64x128x256_pm1_async_v32
moe_gemm  | mfma_moe2_afp4_wfp4_bf16_cshuffle_t32x128x256
norm      | void cuComputePartGradGammaBeta<float, float, c10::BFloat16, false>(c10::BFloat16 const*)
norm      | void at::native::(anonymous namespace)::cuComputeGradGammaBeta<float, float>(float const*)
norm      | void at::native::(anonymous namespace)::cuComputeGradInput<float, float>(float const*)
quant     | vllm::gptq::reconstruct_exllama_4bit_kernel
norm      | void at::native::(anonymous namespace)::Compute1dBackwardFusedParamsCUDAKernel<float>(long)
activation | _fg_kernel
activation | _DWf_DW_dfg_kernel
quant     | void kdequant_mm_int32_fp16<4, 512>(int*, float*, float*, __half*, __half*, int, int, int)
gemm      | void vllm::gptq::gemm_half_q_half_gptq_4bit_kernel<true, 8>(__half const*)
activation | void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}>(int)
activation | void tensorrt_llm::kernels::cutlass_kernels::doGatedActivationKernel<__nv_bfloat16, cutlass::epilogue::thread::SiLu>(int)
activation | triton_poi_fused_addmm_gelu_view_15
sampling  | void flashinfer::sampling::RadixTopKMaskLogitsKernel_MultiCTA<1024u, 4u, false, float, int>(float*)
sampling  | void flashinfer::sampling::RadixTopKRenormProbKernel_MultiCTA<1024u, 4u, false, float, int>(float*)
sampling  | _topk_log_softmax_kernel
sampling  | _ranks_kernel
sampling  | expand_kernel
batch_prep | _combine_sampled_and_draft_tokens_kernel
batch_prep | _get_num_sampled_and_rejected_kernel
batch_prep | _post_update_kernel
norm      | triton_red_fused_fused_add_rms_norm_moe_forward_shared_0
norm      | triton_red_fused__to_copy_add_mean_moe_forward_mul_pow_rsqrt_0
moe_routing | triton_poi_fused_constant_pad_nd_moe_forward_0
conv      | sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize256x64x32_relu_execute_kernel__5x_cudnn
conv      | Im2d2Col_v2
copy      | void nchwToFoldedNhwcKernel<__nv_bfloat16, __nv_bfloat16, float, true, (cudnnKernelDataType_t)0>(int, int, int, int, __nv_bfloat16 const*)
copy      | void foldedNhwcToNchwKernel<__nv_bfloat16, __nv_bfloat16, float, true, (cudnnKernelDataType_t)0>(int, int, int, int, __nv_bfloat16 const*)
batch_prep | void at::cuda::detail::prepare_grouped_gemm_data<cutlass::bfloat16_t, cutlass::bfloat16_t, cutlass::bfloat16_t, float>(cutlass::bfloat16_t*, int)
conv      | Col2Im2dU
attention | sage_fwd
attention | sage_fwd_mxfp4
attention | _sage_fwd_mask
attention | void qk_int_sv_f8_attn_kernel<128u, 64u, 32u, 64u, 128u, (DataType)1, (QuantGranularity)2>(signed char*)
attention | void qk_int_sv_f16_attn_kernel<128u, 64u, 32u, 64u, 128u, (DataType)1>(signed char*)
attention | qk_int8_sv_f8_accum_f32_fuse_v_scale_attn
attention | sageattn_qk_int8_pv_fp8_cuda_kernel
attention | SageAttentionFwd
quant     | void QuantInt8Kernel<128u, 32u, 1u, false, false, __nv_bfloat16>(__nv_bfloat16*)
quant     | quant_per_block_int8_kernel
attention | void flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>>, 128, 1>(int)
attention | void cutlass::device_kernel<flash::FlashAttnFwd<flash::CollectiveMainloopFwd<2>>>(int)
attention | kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensorptrbf16
attention | cudnn_generated_fort_native_sdpa_sm100_flash_bprop_f16_knob_31_128x128x128_1x4x1_cga1x1x1_kernel0_0
attention | void cudnn::fusion::compute_dot_do_o_specialized<true, 128>(int)
attention | void cudnn::fusion::convert_dq_to_16bits<true>(int)
attention | void flashinfer::PrefillWithKVCacheKernel<flashinfer::CollectiveMainloop<int>>(int)
attention | void flashinfer::PODWithKVCacheTensorKernel<flashinfer::KernelTraits<128u>>(int)
attention | void flashinfer::BatchMLAPagedAttentionKernel<int>(int)
attention | void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u>(int)
attention | fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalVarSeqQ128Kv128PersistentContext
attention | fmha_v2_flash_attention_bf16_64_128_S_qkv_128_causal_tma_ws_sm90_kernel
attention_metadata | void tensorrt_llm::kernels::computeSeqAndPaddingOffsets<float, 256>(tensorrt_llm::kernels::BuildDecoderInfoParams<float>)
norm      | void l2_norm_f32<(int)32>(const float *, float *, int, long, long, long, float)
moe_routing | void mm_ids_helper<8>(int const*, int*, int*, int*, int, int, int, int, int)
elementwise | scale_f32(float const*, float*, float, float, long)
attention | kernel_mha
attention | void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaKernelTmaWarpspecialized<int>>(int)
attention | fmha_cutlassB_bf16_aligned_128x128_k64_sm80(PyTorchMemEffAttention::AttentionBackwardKernel::Params)
attention | _fwd_kernel_splitK
attention | _splitK_reduce_varargs
attention | _ZN5aiter42pa_bf16_pertokenFp8_gqa10_1tg_4w_mtp3_msk1E
attention | pa_decode_v2_gluon_big_blk_fp8
attention | _ZN5aiter39mla_a16w16_qh16_m16x4_n16x1_coex0_mask1E
attention | mla_dec_stage1_bf16_a16w16_subQ16_mqa16
attention | _ZN5aiter29fmha_fwd_hd128_bf16_causal_groupE
attention | void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, 16, 128, 256, true, 8>(int)
attention | kernel_unified_attention_3d
attention | _triton_block_sparse_attn_fwd_kernel_v1
attention | bwd_kernel_dk_dv
attention | bwd_preprocess_varlen
attention | _bwd_kernel_dkdvdq_causal
attention | _ZN2ck47kernel_batched_gemm_softmax_gemm_xdl_cshuffle_v2INS_34GridwiseBatchedGemmSoftmaxGemm
attention | void natten::cuda::fmha::FusedNeighborhoodAttentionKernel<int>(int)
attention | splash_mha_fwd_residuals.3
attention | splash_mqa_dkv_no_residuals.3
attention | RPA-bq_8-bkvp_16-p_16.9
attention | RPAd-p_64-bq_1_1-bkv_4096_4096.1
attention | RPAm-p_64-bq_32_32-bkv_4096_4096-sw_128.3
attention | MLA-d-bq_1-bkvp_4-p_64.1
moe_gemm  | fused-moe-k_8-renorm_k-bt_32_32-bf_512_512-bd1_1024_1024-bd2_1024_1024.1
moe_gemm  | fused_moe_k-8_renorm-True_bt-32-32_bf-512-512_bd1-1024-1024_bd2-1024-1024.2
attention | SparseMLA-p_64-bz_16-gcz_1024.1
moe_gemm  | fused-moe-v2-k_8-bt_32_32_32-bf_512
moe_gemm  | gmm.12
moe_gemm  | tgmm
moe_gemm  | jit_gmm_.4
moe_gemm  | megablox_gmm
moe_gemm  | gmm_v2-g_8-m_1024-k_4096-n_4096-tm_128-tk_4096-tn_2048.2
moe_gemm  | ragged_dot.5
gemm      | void tensorrt_llm::kernels::weight_only::kernel<tensorrt_llm::kernels::weight_only::KernelDetails<tensorrt_llm::kernels::weight_only::BF16DetailsA>, 1, 8, 128, 64, true>(int)
sampling  | void tensorrt_llm::kernels::topKStage1<float, 256, 8>(float const*)
sampling  | void tensorrt_llm::kernels::topKStage2Sampling<float, 256, 8>(int const*)
sampling  | void topk_stage_1_opt3<float, 128, 8>(float const*)
quant     | void transformer_engine::(anonymous namespace)::HadamardAmaxTmaKernel<__nv_bfloat16, 16, 128, 128, 64, 64, 128, 128, true, false, true>(CUtensorMap, float*, float*, float*)
quant     | void transformer_engine::(anonymous namespace)::GroupHadamardAmaxTmaKernel<__nv_bfloat16, 16>(CUtensorMap)
quant     | transformer_engine::(anonymous namespace)::ZeroAmaxKernel(float*, float*, float*)
quant     | void transformer_engine::(anonymous namespace)::HadamardTransformKernel<__nv_bfloat16, 16, true, true, true, true, true, true, false>(__nv_bfloat16 const*, __nv_bfloat16*)
quant     | void transformer_engine::detail::(anonymous namespace)::rht_gemm_device<int, int, int, cute::tuple<cute::C<128>>, cutlass::bfloat16_t, cutlass::float_e2m1_t, true>(int, int, int)
quant     | void transformer_engine::detail::(anonymous namespace)::group_row_col_rht_gemm_device_graph_safe<int, int, int, cutlass::bfloat16_t>(int, int, int)
quant     | transformer_engine::delayed_scaling_recipe::(anonymous namespace)::bulk::kernel_bulk(float*, float*, float*, transformer_engine::delayed_scaling_recipe::(anonymous namespace)::AmaxParam, unsigned long, float)
quant     | _triton_fp8_per_group_rowwise_scales_kernel
quant     | triton_scale_swizzle
quant     | triton_scale_swizzle_M_groups
moe_routing | _indices_to_multihot_kernel
moe_routing | _multihot_to_indices_kernel
moe_routing | _fill_indices_kernel
quant     | void transformer_engine::detail::cast_transpose_general_kernel<8ul, 8ul, float, __nv_bfloat16, __nv_fp8_e4m3>(__nv_bfloat16 const*)
moe_routing | _row_id_map_pass_1_kernel
moe_routing | _make_chunk_sort_map_kernel
moe_routing | _sort_chunks_by_map_kernel
moe_routing | _unpermute_bwd_with_merging_probs_kernel
communication | void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<tensorrt_llm::kernels::moe_comm::BlockPolicy, 8>(int const*, tensorrt_llm::kernels::moe_comm::DispatchKernelPointers)
communication | void tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<__nv_bfloat16, tensorrt_llm::kernels::moe_comm::BlockPolicy, 8>(tensorrt_llm::kernels::moe_comm::CombineKernelPointers, int)
moe_routing | void tensorrt_llm::kernels::moe_comm::moeA2APrepareDispatchKernel(int*, int, int, unsigned int*)
attention | _fwd_grouped_split_kernel
attention | _fwd_grouped_split_quant_kernel
attention | _reduce_split_kernel
attention | _flash_prefill_fwd_kernel
attention | _fwd_kernel_unified
kv_store  | _fill_kv_cache_kernel
kv_store  | _fill_kv_cache_quant_kernel
kv_store  | _fill_kv_cache_blocked_fp8_kernel
kv_store  | _flatten_kv_cache_quant
moe_routing | _fwd_kernel_ep_scatter_1
moe_routing | _scatter_sorted_idx_kernel
moe_routing | _single_cta_route_prepare_kernel
moe_gemm  | fused_moe_blocked_f8_kernel
moe_gemm  | fused_moe_compact_kernel
moe_routing | _reduce_grouped
moe_routing | _compute_writeback_idx
moe_routing | _expt_data_compute
moe_routing | _ragged_tensor_metadata_compute
indexer   | void vllm::topKPerRowPrefill<512, true>(float const*, int const*, int const*, int*)
indexer   | topk_transform_decode_kernel
indexer   | _convert_req_index_to_global_index_kernel
indexer   | void vllm::cp_gather_indexer_k_quant_cache_kernel<8>(char const*)
indexer   | void deep_gemm::smxx_clean_logits<256u, 8192u, 8u>(unsigned int, unsigned int, unsigned long)
topk      | void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(int)
copy      | void deep_gemm::transpose_fp32<512u, 48u, 96u>(float const*, float*, unsigned int)
quant     | void deep_gemm::transpose_and_pack_fp32_into_ue8m0<512u, 48u, 192u, 128u, 1u, false>(float*, unsigned int*, unsigned int)
quant     | void deep_gemm::pack_fp32_into_ue8m0<4u, 512u, 48u, 6u, true>(float*, unsigned int*, unsigned int*)
quant     | void tensorrt_llm::kernels::fp8_blockscale_gemm::scale_1x128_kernel<__nv_bfloat16, __nv_fp8_e4m3>(__nv_fp8_e4m3*)
gemm      | void deep_gemm::sm90_bf16_gemm_impl<128u>(int*)
linear_attention | void ssm_scan_f32<1, 256, 128>(float const*)
linear_attention | void ssm_scan_f32_group<16, 128>(float const*)
linear_attention | void ssm_conv_f32<true, 128, 4>(float const*)
communication | ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)
mc2           | InplaceMatmulAllReduceAddRmsNorm
mc2           | GroupedMatMulAlltoAllv
mc2           | GroupedMatMulAllReduce
mc2           | MatmulAlltoAll
mc2           | AlltoAllvGroupedMatMul
mc2           | AllGatherMatmul
mc2           | allgather-matmul-kernel
mc2           | reduce_scatter_matmul_kernel
mc2           | BatchMatMulReduceScatterAlltoAll
moe_gemm      | DispatchFFNCombineW4A8
moe_gemm      | DispatchGmmCombineDecode
moe_gemm      | FusedDeepMoe
communication | InplaceMatmulAllReduceAddRmsNormAicpu
communication | GroupedMatMulAlltoAllvAicpu
communication | QuantAllReduce
communication | MoeDistributeDispatchV3
communication | AttentionToFFN
communication | NotifyDispatch
communication | DistributeBarrier
attention     | MlaPrologV3
attention     | MlaPreprocess
attention     | QuantLightningIndexer
attention     | LightningIndexerGrad
attention     | SparseAttnSharedkv
attention     | SparseFlashMla
attention     | NsaCompressAttention
attention     | Compressor
attention_metadata | QuantLightningIndexerV2Metadata
attention_metadata | SparseFlashMlaMetadata
linear_attention | RecurrentKda
linear_attention | ChunkKdaFwd
linear_attention | ChunkFwdO
kv_store      | StoreKvBlock
kv_store      | ScatterPaCache
kv_store      | GatherPaKvCache
kv_store      | KvCompressEpilog
rope          | RopeWithSinCosCache
rope          | RopeQuantKvcache
rope          | split_qkv_rmsnorm_mrope_kernel
gemm          | SgmvExpand
gemm          | BgmvShrink
moe_routing   | AttentionWorkerCombine
moe_routing   | FfnWorkerBatching
moe_routing   | DispatchLayout
mhc_pre_fuse  | HcPre
mhc_pre_fuse  | MhcSinkhorn
mhc_post      | MhcPost
gemm          | FFN
gemm          | Einsum
norm          | DeepNorm
random        | StatelessRandomUniformV2
batch_prep    | CopyAndExpandEagleInputs
gemm          | SwinTransformerLnQKV
gemm          | SwinAttentionFFN
gemm          | BatchMatmulQuant
activation    | DequantSituQuant
quant         | TransQuantParamV2
elementwise   | NonZeroV2
rnn           | DynamicGRUV2
loss          | KLDivV2
loss          | SmoothL1LossGradV2
copy          | UpsampleNearest3dGrad
copy          | fused_qkvzba_split_reshape_cat_kernel
other     | message_fwd_kernel
memcpy    | void (anonymous namespace)::transfer_kernel_impl<&get_global_offset_lf<char const>, false>(void const*, void*)
memcpy    | void (anonymous namespace)::transfer_page_head_kernel_impl<&get_global_offset_per_head_lf<char const>>(void const*)
memcpy    | void hicache_transfer_per_layer<1024l, 4l>(HicacheKernelParams)
memcpy    | void lmc::single_layer_kv_transfer_kernel<__nv_bfloat16, false>(__nv_bfloat16*)
memcpy    | void flexkv::transfer_kv_blocks_kernel<(flexkv::BackendType)0>(int, int, int, long*)
moe_routing | deepgemm_compute_src2dst_triton_kernel
moe_routing | fill_gateup_input_triton_kernel
moe_routing | compute_masked_m_triton_kernel
batch_prep | fill_new_verified_id
batch_prep | fill_accepted_out_cache_loc
attention_metadata | get_num_kv_splits_triton
elementwise | fuse_scale_shift_kernel_blc_opt
"""  # noqa: E501


def test_products_and_attention_of_every_library_are_known_by_their_names(lake: Lake) -> None:
    check_categories(lake, NAMES)


# An operator, the kernel it launches, what that counts as, what decides, and whether names and operators contradict
# each other.
CASES = """
aten::addmm | my_product_v7 | gemm | operator | no
aten::addmm | void gelu_shaped_name<1>() | gemm | operator | yes
aten::addmm | void splitKreduce_kernel<32, 16, int>(int) | gemm | operator | no
aten::addmm | void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int) | gemm | operator | no
aten::linear | void per_token_cast_to_fp8<1>() | quant | name | no
aten::_grouped_mm | void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int> >(int) | moe_gemm | operator | no
aten::cudnn_convolution | void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int) | conv | operator | no
aten::convolution_backward | Cijk_Ailk_Bljk_BBS_BH_MT256x256x32 | conv | operator | no
aten::_flash_attention_forward | kernel_of_a_new_library | attention | operator | no
aten::native_layer_norm | kernel_of_a_new_library | norm | operator | no
aten::embedding | void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long, unsigned int, 2, 2, -2, true>(int) | embedding | operator | no
aten::relu_ | void at::native::vectorized_elementwise_kernel<4, at::native::launch_clamp_scalar(int)>(int) | activation | operator | no
aten::_foreach_copy_ | void at::native::multi_tensor_apply_kernel<UnaryOpFunctor<float> >(int) | copy | operator | no
aten::_foreach_add_ | void at::native::multi_tensor_apply_kernel<BinaryOpScalarFunctor<float> >(int) | optimizer | name | no
aten::mul | kernel_of_a_new_library | elementwise | operator | no
aten::mul | void softmax_warp_forward<1>() | elementwise | operator | yes
vllm::moe_forward | void vllm::act_and_mul_kernel<1>() | activation | name | no
vllm::moe_forward | kernel_of_a_new_library | other | - | no
aiter::mha_fwd | void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int) | fill | name | no
aiter::mha_fwd | kernel_of_a_new_library | attention | operator | no
CompiledFunction | triton_red_fused__softmax_1 | softmax | name | no
c10d::allreduce_ | kernel_of_a_new_library | communication | operator | no
c10d::allreduce_ | void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float> >(int) | fill | name | no
aten::mm | ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int) | communication | name | no
"""  # noqa: E501


@in_one_lake
def test_the_operator_decides_where_it_is_known_and_never_turns_communication_into_computing(tmp_path):
    cases = [line.split(" | ") for line in CASES.strip().splitlines()]
    trace = Trace()
    for nth, (op, name, *_) in enumerate(cases):
        trace.op(op, 100 * nth, 50)
        trace.kernel(name, launched=100 * nth + 10, start=100 * nth + 20, dur=10)
    lake = yield trace.write(tmp_path / "trace.json")
    found = lake.sql(
        "SELECT op_name, name, category, coalesce(category_source, '-'), is_contradicted, kind FROM kernels"
        " ORDER BY start_ns"
    ).fetchall()
    assert [[*row[:4], "yes" if row[4] else "no"] for row in found] == cases
    assert {row[2] for row in found if row[5] == "communication"} == {"communication"}
    assert {row[5] for row in found if row[2] == "communication"} == {"communication"}
    # Two of 24 kernels of equal length.
    assert lake.sql(
        "SELECT op_name, category, name_category, kernel_count, sum_us, round(device_pct, 2) FROM category_conflicts"
        " ORDER BY ALL"
    ).fetchall() == [
        ("aten::addmm", "gemm", "activation", 1, 10, 4.17),
        ("aten::mul", "elementwise", "softmax", 1, 10, 4.17),
    ]
    assert lake.sql(
        "SELECT severity, round(value, 2) FROM health WHERE \"check\" = 'category_conflicts'"
    ).fetchall() == [("warning", 8.33)]


@in_one_lake
def test_a_fill_or_copy_of_the_driver_stays_memory_whatever_launched_it(tmp_path):
    trace = Trace()
    trace.op("aten::addmm", 0, 50)
    trace.kernel("Memset (Device)", launched=10, start=20, dur=10, cat="gpu_memset")
    trace.op("aten::copy_", 100, 50)
    trace.kernel("__amd_rocclr_copyBuffer", launched=110, start=120, dur=10)
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.sql("SELECT category, kind, category_source FROM kernels ORDER BY start_ns").fetchall() == [
        ("memset", "memory", "name"),
        ("memcpy", "memory", "name"),
    ]


@in_one_lake
def test_an_operator_around_a_graph_says_nothing_of_its_kernels(tmp_path):
    trace = Trace()
    trace.op("aten::addmm", 0, 50)
    trace.kernel("kernel_a", launched=10, start=20, dur=10)
    trace.events.append(trace.events[-1] | {"name": "kernel_b", "ts": 30})
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.sql("SELECT category, category_source FROM kernels").fetchall() == [("other", None)] * 2


def test_products_of_a_vision_transformer_are_what_its_operator_launched(real_lake) -> None:
    # Sums over the file's events by a few lines of Python: what aten::addmm launched is 60.0 percent of the kernels'
    # and copies' time, aten::gelu 4.9, the convolution with its changes of layout 9.9.
    lake = real_lake("kineto/hf_vit-nsfw_h100.json.gz")
    shares = dict(
        lake.sql(
            "SELECT category, round(100.0 * sum(dur_ns) / sum(sum(dur_ns)) OVER (), 1) FROM kernels GROUP BY category"
        ).fetchall()
    )
    assert (shares["gemm"], shares["activation"], shares["conv"]) == (60.0, 4.9, 9.9)


@pytest.mark.parametrize(
    "name", ["hf_vit-nsfw_mi300x", "sglang_qwen3-8b_prefill_mi300x", "vllm_gpt-oss_prefill_tp_b200"]
)
def test_names_and_operators_do_not_contradict_each_other_in_real_traces(real_lake, name: str) -> None:
    lake = real_lake(f"kineto/{name}.json.gz")
    assert lake.sql("FROM category_conflicts").fetchall() == []
    assert lake.sql("SELECT count(*) > 100 FROM kernels WHERE category_source = 'operator'").fetchall() == [(True,)]
