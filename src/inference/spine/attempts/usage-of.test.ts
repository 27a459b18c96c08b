import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Usage } from '../../../formats/neutral/usage.ts';
import type { AnswerReader } from '../answer-reader.ts';
import { usageOf } from './attempt.ts';

const prepared = { inputTokensEstimate: 11, bytes: '{}' };

/** Usage in the books of an answer whose provider reports `reported`, where `seen` tokens of output passed. */
function booked(reported: Usage | null, seen?: number, served = true) {
  const reader = { usage: reported, outputTokensSeen: seen } as AnswerReader;
  return usageOf(prepared, reader, served, null);
}

const tokens = (inputTokens: number, outputTokens: number, more: Partial<Usage> = {}): Usage => ({
  inputTokens,
  outputTokens,
  ...more,
});

test('what a provider counts is booked as it says', () => {
  assert.deepEqual(booked(tokens(3, 4), 9), { usage: tokens(3, 4), usageSource: 'upstream' });
  const cached = tokens(3, 4, { cachedInputTokens: 3 });
  assert.deepEqual(booked(cached, 9), { usage: cached, usageSource: 'upstream' });
});

test('zeros beside words that passed are no count: ours is booked', () => {
  assert.deepEqual(booked(tokens(0, 0), 9), { usage: tokens(11, 9), usageSource: 'counted' });
  assert.deepEqual(booked(tokens(0, 0), 9, false), { usage: tokens(11, 9), usageSource: 'abandoned' });
  assert.deepEqual(booked(tokens(0, 0), 0), { usage: tokens(0, 0), usageSource: 'upstream' }, 'nothing passed');
  assert.deepEqual(booked(tokens(0, 0)), { usage: tokens(0, 0), usageSource: 'upstream' }, 'sound');
});

test('what a provider counts of the two stays, and the other is counted here', () => {
  assert.deepEqual(booked(tokens(0, 4), 9), { usage: tokens(11, 4), usageSource: 'counted' });
  assert.deepEqual(booked(tokens(3, 0), 9), { usage: tokens(3, 9), usageSource: 'counted' });
  assert.deepEqual(booked(tokens(3, 0), 0), { usage: tokens(3, 0), usageSource: 'upstream' }, 'nothing passed');
});

test('a reranker that counts searches alone has its tokens counted here', () => {
  const searches = { searchUnits: 2 };
  assert.deepEqual(booked(tokens(0, 0, searches)), { usage: tokens(11, 0, searches), usageSource: 'counted' });
  assert.deepEqual(booked(tokens(0, 5, searches), 9), { usage: tokens(11, 5, searches), usageSource: 'counted' });
  assert.deepEqual(booked(tokens(7, 0, searches)), { usage: tokens(7, 0, searches), usageSource: 'upstream' });
});

test('an answer that says nothing of its usage is counted here, and one that never began is free', () => {
  assert.deepEqual(booked(null, 9), { usage: tokens(11, 9), usageSource: 'counted' });
  assert.deepEqual(usageOf(prepared, null, false, null), { usage: null, usageSource: 'none' });
});
