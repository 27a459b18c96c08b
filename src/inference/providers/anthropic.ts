import { openAiQuirks } from './openai-like.ts';
import type { Provider } from './provider.ts';

/**
 * https://docs.anthropic.com/en/api. The converter decides what can be said in Messages; the quirks only tell
 * routing what a target of this provider can do.
 */
export const anthropic: Provider = {
  id: 'anthropic',
  title: 'Anthropic',
  dialect: 'anthropic-messages',
  baseUrl: 'https://api.anthropic.com/v1',
  baseSuffixes: ['/messages'],
  auth: 'x-api-key',
  envKey: 'ANTHROPIC_API_KEY',
  local: false,
  paths: { chat: '/messages', models: '/models?limit=1000' },
  headers: { 'anthropic-version': '2023-06-01' },
  quirks: { ...openAiQuirks, nativeN: false, logprobs: false, seed: false },
  errors: [
    // Out of credit is told as a 400 of the caller's.
    { status: 400, code: /credit balance is too low|credit_balance_too_low/i, class: 'quota_exhausted' },
    { code: 'billing_error', class: 'quota_exhausted' },
    { code: 'overloaded_error', class: 'transient' },
    { code: 'api_error', class: 'transient' },
    { code: 'timeout_error', class: 'transient' },
    { code: 'rate_limit_error', class: 'rate_limited' },
    { code: 'authentication_error', class: 'bad_credential' },
    { code: 'request_too_large', class: 'caller_fault' },
    { status: 404, code: /^not_found_error\b.*\bmodel\b/i, class: 'model_unavailable' },
    { status: 403, code: /^permission_error\b.*\bmodel\b/i, class: 'model_unavailable' },
    { code: 'permission_error', class: 'bad_credential' },
    { status: 400, code: 'invalid_request_error', class: 'caller_fault' },
  ],
};
