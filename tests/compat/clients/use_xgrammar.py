# SPDX-License-Identifier: Apache-2.0
"""Use the published package xgrammar from Python: compile, mask tokens, match, record."""

import sys
import types
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "published"))

import pytest
import torch

# xgrammar only derives from these three classes and compares with them; importing transformers
# would need many more packages.
transformers = types.ModuleType("transformers")
for name in ("LogitsProcessor", "PreTrainedTokenizerBase", "PreTrainedTokenizerFast"):
    setattr(transformers, name, type(name, (), {}))
sys.modules["transformers"] = transformers

import xgrammar  # noqa: E402  (needs the module above)
from replays import replayed  # noqa: E402

VOCABULARY = ["</s>", "0", "1", "2", "[", "]", ",", "a", "[1", ",2]", "1]"]
SIZE = 40
GRAMMAR = 'root ::= "[" digit ("," digit)* "]"\ndigit ::= [0-9]\n'


def allowed_tokens(matcher):
    """Return the tokens that the grammar accepts next, according to the masked logits."""
    mask = xgrammar.allocate_token_bitmask(1, SIZE)
    assert matcher.fill_next_token_bitmask(mask)
    logits = torch.zeros(1, SIZE)
    xgrammar.apply_token_bitmask_inplace(logits, mask)
    kept = torch.isfinite(logits[0]).nonzero().flatten().tolist()
    return [VOCABULARY[token] for token in kept]


def use():
    tokenizer = xgrammar.TokenizerInfo(VOCABULARY, vocab_size=SIZE, stop_token_ids=[0])
    assert tokenizer.vocab_size == SIZE
    assert tokenizer.decoded_vocab[8] == b"[1"
    compiler = xgrammar.GrammarCompiler(tokenizer)
    matcher = xgrammar.GrammarMatcher(compiler.compile_grammar(GRAMMAR))
    assert allowed_tokens(matcher) == ["[", "[1"]
    assert matcher.accept_string("[1")
    assert allowed_tokens(matcher) == ["]", ",", ",2]"]
    assert matcher.accept_token(VOCABULARY.index(",2]"))
    assert allowed_tokens(matcher) == ["</s>"]
    assert matcher.accept_token(0)
    assert matcher.is_terminated()
    schema = '{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}'
    as_json = xgrammar.GrammarMatcher(compiler.compile_json_schema(schema))
    assert not as_json.accept_string('{"b"')


def main():
    # Not the kernels, whose arguments are addresses.
    with replayed(*(f"xgrammar.tvm_ffi_binding.{name}*" for name in ("Comp", "Gram", "Token"))):
        use()
    with pytest.raises(RuntimeError, match="missing"):
        xgrammar.Grammar.from_ebnf("root ::= missing")


main()
print("done")
