-- The type of what PyTorch computes of tensors, of tensors without dimensions and of plain
-- numbers, as masks of type_promotions, each the bits of all such operands, 0 of none: each kind
-- decides unless a later one is of a higher category (torch.result_type).
CREATE MACRO _promoted_type(tensors, zero_dims, numbers) AS
_combined_type(tensors, _combined_type(zero_dims, numbers));
