"""What kernels of serving engines and training libraries count as by their names."""

import pytest

from tracelake.lake import Lake

from .kernel_names import check_categories

# Names as the public code of these libraries compiles them, or as its profiles print them.
SPARSE_ATTENTION = """
attention | _gqa_sparse_fwd_kernel
attention | _gqa_sparse_decode_kernel
attention | _gqa_share_sparse_fwd_kernel
attention | _sparse_gqa_prefill
attention | _sparse_fwd_kernel_flash_decode_stage3
attention | _compress_c128_decode_old_kernel
attention | flash_c128_online_decode_v2
attention | kernel_reduce_segments_diffkv
attention | _fwd_kernel_alibi
attention | _bwd_kernel_fused_atomics
indexer   | _index_block_score_kernel
indexer   | _decode_index_score_kernel
indexer   | _topk_index_partial_kernel
indexer   | _qsa_mqa_paged_prefill_kernel
indexer   | tl_indexer_bwd_kernel_kernel
indexer   | transform_index_page_table_prefill_kernel
indexer   | transform_index_page_table_decode_kernel
indexer   | void vllm::persistent::persistent_topk_kernel<4>(vllm::persistent::PersistentTopKParams)
indexer   | kernel_cutlass_kernel_vllmmodelsminimax_m3nvidiaopsindex_decode_scoreIndexDecodeScoreKernel_object_at__0
hadamard  | void fast_hadamard_transform_kernel<fast_hadamard_transform_kernel_traits<16, 7, float> >(HadamardParamsBase)
kv_store  | _set_k_and_s_triton_kernel
kv_store  | _append_kv_cache_kernel
kv_store  | _reshape_cache_per_token_head
kv_store  | quantize_and_insert_k_kernel
kv_store  | _insert_index_cache_kernel
quant     | _quantize_k_cache_fast_kernel
quant     | _per_token_group_quant_mla_deep_gemm_masked_fp8
quant     | _per_tensor_quant_mla_fp8_stage1
attention_metadata | _fused_dsa_decode_metadata_kernel
attention_metadata | paged_mqa_metadata_small_kernel
index     | void fbgemm_gpu::permute_2D_sparse_data_kernel<false, int, int>(int)
fill      | fill_kernel
"""  # noqa: E501
LAYERS = """
mhc_pre_fuse | hc_split_sinkhorn_kernel__kernel
mhc_pre_fuse | _mhc_split_sinkhorn_fwd_kernel
mhc_post  | mhc_post_tilelang_kernel
mhc_post  | _mhc_post_res_bwd_kernel
norm      | _grouped_gemma_rmsnorm_kernel
norm      | _fused_eh_norm_kernel
norm      | _norm_residual_norm_kernel
norm      | rms_pre_post_norm_kernel
reduce    | _grad_norm_kernel
moe_gemm  | grouped_gemm_kernel
moe_gemm  | smallm_f8_p1_i256_c16
activation | situ_and_mul_kernel
other     | mhc_mm_norm_prefill_kernel
memcpy    | hicache_tma_transfer_kernel
memcpy    | load_cache_to_device_buffer_kernel
"""
TRAINING = """
linear_attention | chunk_dplr_fwd_kernel_h
linear_attention | chunk_dplr_bwd_o_kernel
linear_attention | chunk_gsa_fwd_kernel_intra
linear_attention | chunk_gsa_bwd_kernel_dqkvg
linear_attention | chunk_gdn2_bwd_kernel_wy_dqkg_fused
linear_attention | wu_fwd_kernel
loss      | efficient_entropy_kernel_general_mainloop
loss      | efficient_entropy_backward_kernel_general_d_logits_split_N
loss      | liger_vocab_parallel_ce_forward_kernel
loss      | grpo_bwd_kernel
quant     | void transformer_engine::(anonymous namespace)::HadamardAmaxTmaKernel<float>(CUtensorMap_st, float*)
quant     | void transformer_engine::(anonymous namespace)::rht_gemm_device<int, int, int>(int, int, int)
quant     | void transformer_engine::detail::group_row_col_rht_gemm_device<int, int, int>(int, int, int)
"""
CUTE_DSL = """
quant     | kernel_cutlass_kernel_vllmmodelsdeepseek_v32nvidiaopsfused_q_cutedslFusedQKernel_object_at__tensorptrbf16_0
quant     | kernel_cutlass_kernel_vllmv1attentionopsdeepseek_v4_opsfused_indexer_q_cutedslIndexerQMxFp4Kernel_object_at__0
quant     | kernel_cutlass_kernel_vllmv1attentionopsdeepseek_v4_opsdequant_gather_k_cutedslDequantGatherKCacheKernel_0
other     | kernel_cutlass_kernel_vllmmodelsflintopsqkv_fusedNorm_object_at__tensorptrbf16gmemalign16o1_0
linear_attention | kernel_cutlass_kernel_vllmmodelskimi_k3nvidiaspecialized_decodecutedslkdakernelKdaSplit_object_at__0
gemm      | kernel_cutlass_kernel_vllmmodel_executorkernelslinearcute_dsl_ll_bf16_dotprodLLBf16Dotprod_object_at__0
gemm      | kernel_cutlass_kernel_vllmmodelskimi_k3nvidiaspecialized_decodecutedslgemmws_gemmWsGemm_object_at__0
gemm      | void LLMM1_kernel<__hip_bfloat16, 4>(__hip_bfloat16 const*)
gemm      | _ll_mm_kernel
gemm      | kernel_cutlass_kernel_sglangkernelsopsgemmnvfp4_gemm_swiglu_nvfp4_quantSm100BlockScaledPersistent_object_at__0
mc2       | kernel_cutlass_kernel_flashinfercute_dslgemm_allreduce_two_shotPersistentDenseGemmKernel_object_at__0
mc2       | kernel_cutlass_kernel_sglangkernelsopscommunicationcutlass_all_gather_gemmPersistentDenseGemmKernel_0
mc2       | kernel_cake_fp8_rowwise_gemm_allreduce_14343fabdff465e3e64a
norm      | kernel_cutlass__rms_norm_bwd_fused_vector_kernel_tensorptrbf16gmemalign16o1_0
norm      | kernel_cutlass_kernel_flashinfernormkernelsfused_add_rmsnormFusedAddRMSNormKernel_object_at__tensorptrbf16_0
communication | void (anonymous namespace)::all_reduce_one_shot_push_kernel<__nv_bfloat16, 8u, true>(int)
"""  # noqa: E501


@pytest.mark.parametrize("names", [SPARSE_ATTENTION, LAYERS, TRAINING, CUTE_DSL])
def test_kernels_of_engines_and_libraries_are_known_by_their_names(lake: Lake, names: str) -> None:
    check_categories(lake, names)
