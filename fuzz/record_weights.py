#!/usr/bin/env python3
"""Writes small valid model files of every kind into FOLDER: seeds of the weights fuzzer.

fuzz/record_weights.py FOLDER
"""
import json
import os
import struct
import sys

SAFETENSORS, TOKENIZER_JSON, CHECKPOINT, TOKENIZER_BIN, CONFIG, FOLDER = range(6)

CONFIG_LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 8,
    "hidden_size": 4, "intermediate_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "max_position_embeddings": 16, "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0, "tie_word_embeddings": False, "hidden_act": "silu", "bos_token_id": 1,
    "eos_token_id": [2, 3], "rope_scaling": None, "attention_bias": False}
CONFIG_QWEN = {
    "architectures": ["Qwen2ForCausalLM"], "vocab_size": 8, "hidden_size": 4,
    "intermediate_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2, "head_dim": 2,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}, "tie_word_embeddings": True,
    "use_sliding_window": False, "eos_token_id": 2, "partial_rotary_factor": 1.0}


def safetensors(shapes, kind="F32"):
    """A file of tensors full of a few values; shapes: {name: shape}."""
    width = {"F32": 4, "F16": 2, "BF16": 2, "I64": 8}[kind]
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in shapes.items():
        size = width
        for dimension in shape:
            size *= dimension
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + bytes(i % 64 for i in range(at))


def model_shapes(config):
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads = config["num_attention_heads"]
    head_dim = config.get("head_dim", hidden // heads)
    query = heads * head_dim
    key = config.get("num_key_value_heads", heads) * head_dim
    shapes = {"model.embed_tokens.weight": [config["vocab_size"], hidden],
              "model.norm.weight": [hidden]}
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = [config["vocab_size"], hidden]
    layer = "model.layers.0."
    shapes.update({
        layer + "input_layernorm.weight": [hidden],
        layer + "self_attn.q_proj.weight": [query, hidden],
        layer + "self_attn.k_proj.weight": [key, hidden],
        layer + "self_attn.v_proj.weight": [key, hidden],
        layer + "self_attn.o_proj.weight": [hidden, query],
        layer + "post_attention_layernorm.weight": [hidden],
        layer + "mlp.gate_proj.weight": [inner, hidden],
        layer + "mlp.up_proj.weight": [inner, hidden],
        layer + "mlp.down_proj.weight": [hidden, inner]})
    if "Qwen2ForCausalLM" in config["architectures"]:
        for name, size in (("q", query), ("k", key), ("v", key)):
            shapes[f"{layer}self_attn.{name}_proj.bias"] = [size]
    return shapes


def byte_pieces():
    """GPT-2's printable stand-ins for the bytes."""
    pieces, extra = [], 0x100
    for byte in range(256):
        if 0x21 <= byte <= 0x7e or 0xa1 <= byte <= 0xac or byte >= 0xae:
            pieces.append(chr(byte))
        else:
            pieces.append(chr(extra))
            extra += 1
    return pieces


def tokenizer_json(**changes):
    vocab = {piece: i for i, piece in enumerate(byte_pieces())}
    for piece in ("th", "the", "\u0120the", "up", "on"):
        vocab[piece] = len(vocab)
    tokenizer = {
        "added_tokens": [{"id": len(vocab), "content": "<eos>", "special": True},
                         {"id": len(vocab) + 1, "content": "time", "special": False}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "model": {"type": "BPE", "vocab": vocab,
                  "merges": ["t h", "th e", ["\u0120", "the"], "u p", "o n"]}}
    tokenizer.update(changes)
    return json.dumps(tokenizer, separators=(",", ":"), ensure_ascii=False).encode()


def checkpoint(tied):
    dim, inner, layers, heads, kv_heads, vocabulary, positions = 4, 6, 1, 2, 1, 5, 3
    head_dim = dim // heads
    floats = (vocabulary * dim * (1 if tied else 2) + positions * head_dim + dim + layers * (
        2 * dim + 2 * dim * dim + 2 * kv_heads * head_dim * dim + 3 * inner * dim))
    header = struct.pack("<7i", dim, inner, layers, heads, kv_heads,
                         vocabulary if tied else -vocabulary, positions)
    return header + struct.pack(f"<{floats}f", *([0.5] * floats))


def tokenizer_bin():
    pieces = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    pieces += [" ", "O", "n", "c", "e", "On", "ce", "Once", " Once", "\u00e9"]
    out = struct.pack("<i", 8)
    for rank, piece in enumerate(pieces):
        text = piece.encode()
        out += struct.pack("<fi", -float(rank), len(text)) + text
    return struct.pack("<H", len(pieces)) + out


def folder(config):
    text = json.dumps(config).encode()
    return struct.pack("<H", len(text)) + text + safetensors(model_shapes(config))


def main(target):
    digits = {"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": True}]}
    seeds = {
        "safetensors_f32": (SAFETENSORS, safetensors({"a": [2, 3], "b": [], "c": [0, 4]})),
        "safetensors_f16": (SAFETENSORS, safetensors({"a": [2, 2], "b": [5]}, "F16")),
        "safetensors_bf16": (SAFETENSORS, safetensors({"a": [1]}, "BF16")),
        "safetensors_i64": (SAFETENSORS, safetensors({"a": [1]}, "I64")),
        "tokenizer_json": (TOKENIZER_JSON, tokenizer_json()),
        "tokenizer_json_digits": (TOKENIZER_JSON, tokenizer_json(pre_tokenizer=digits)),
        "checkpoint_tied": (CHECKPOINT, checkpoint(True)),
        "checkpoint_head": (CHECKPOINT, checkpoint(False)),
        "tokenizer_bin": (TOKENIZER_BIN, tokenizer_bin()),
        "config_llama": (CONFIG, json.dumps(CONFIG_LLAMA).encode()),
        "config_qwen": (CONFIG, json.dumps(CONFIG_QWEN).encode()),
        "folder_llama": (FOLDER, folder(CONFIG_LLAMA)),
        "folder_qwen": (FOLDER, folder(CONFIG_QWEN)),
    }
    os.makedirs(target, exist_ok=True)
    for name, (kind, data) in seeds.items():
        with open(os.path.join(target, "seed_" + name), "wb") as out:
            out.write(bytes([kind]) + data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    main(sys.argv[1])
