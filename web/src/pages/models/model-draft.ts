import type { ModelReply } from '../../../../src/admin/entries/models.ts';
import { FieldProblem, listIn, numberOrText, objectIn } from '../../parts/forms/typed.ts';
import { refuseNameless, type VariantDraft, variantDrafts, writtenVariants } from './variant-draft.ts';

/** Types of models, as in `culvert.yaml`. */
export const modelTypes = [
  'chat',
  'embedding',
  'speech',
  'transcription',
  'image',
  'video',
  'rerank',
  'moderation',
  'ocr',
  'realtime',
] as const;

/** The typed values of a model's form, as texts. */
export interface ModelDraft {
  id: string;
  type: string;
  targets: readonly TargetDraft[];
  /** Names with commas between them, as are `accounts` and `plans`. */
  fallbacks: string;
  /** '' by weight and load. */
  prefer: string;
  /** Checks of answers, with commas between them. */
  checks: string;
  minChars: string;
  tier: string;
  cost: string;
  accounts: string;
  plans: string;
  /** '': answers are not kept. */
  cacheTtl: string;
  /** '' is `key`. */
  cacheScope: string;
  /** The model that embeds questions; '': only equal requests have a kept answer. */
  semanticModel: string;
  semanticError: string;
  /** Other settings of that. */
  semanticRest: Record<string, unknown>;
  /** Other settings of its cache. */
  cacheRest: Record<string, unknown>;
  /** '' is `off`. */
  promptCache: string;
  /** Names with commas between them. */
  guards: string;
  shadowShare: string;
  shadowModel: string;
  /** Other settings of that. */
  shadowRest: Record<string, unknown>;
  variants: readonly VariantDraft[];
  /** '' is `key`. */
  sticky: string;
  /** '' or `auto`. */
  rollback: string;
  /** JSON of everything without a separate field. */
  rest: string;
}

export interface TargetDraft {
  /** Tells rows apart while they are edited. */
  row: number;
  /** provider/model */
  target: string;
  priority: string;
  weight: string;
  /** USD per million tokens. */
  input: string;
  output: string;
  /** Parts of its definition without a field here. */
  rest: Record<string, unknown>;
}

/** Checks that the server makes where `quality` names none. */
const allChecks = ['schema', 'refusal', 'length'];

let rows = 0;

export function blankTarget(): TargetDraft {
  rows += 1;
  return { row: rows, target: '', priority: '', weight: '', input: '', output: '', rest: {} };
}

type Written = Record<string, unknown>;

export function draftOf(model: ModelReply | null): ModelDraft {
  const definition = (model?.definition ?? {}) as Written;
  const { type, targets, fallbacks, prefer, quality, tier, cost, only, ...others } = definition;
  const { cache, prompt_cache, guards, shadow, variants, sticky, rollback, ...rest } = others;
  const { ttl, scope, semantic, ...cacheRest } = (cache ?? {}) as Written;
  const { model: semanticModel, error: semanticError, ...semanticRest } = (semantic ?? {}) as Written;
  const { share: shadowShare, model: shadowModel, ...shadowRest } = (shadow ?? {}) as Written;
  const { accounts, plans } = (only ?? {}) as { accounts?: string[]; plans?: string[] };
  const { checks, min_chars: minChars } = (quality ?? {}) as { checks?: string[]; min_chars?: number };
  const written = (targets as (string | Written)[] | undefined) ?? [];
  return {
    id: model?.id ?? '',
    type: textOf(type) || 'chat',
    targets: written.length === 0 ? [blankTarget()] : written.map(targetDraft),
    fallbacks: listOf(fallbacks),
    prefer: textOf(prefer),
    checks: quality === undefined ? '' : listOf(checks ?? allChecks),
    minChars: textOf(minChars),
    tier: textOf(tier),
    cost: textOf(cost),
    accounts: listOf(accounts),
    plans: listOf(plans),
    cacheTtl: textOf(ttl),
    cacheScope: scope === 'key' ? '' : textOf(scope),
    semanticModel: textOf(semanticModel),
    semanticError: textOf(semanticError),
    semanticRest,
    cacheRest,
    promptCache: prompt_cache === 'off' ? '' : textOf(prompt_cache),
    guards: listOf(guards),
    shadowShare: textOf(shadowShare),
    shadowModel: textOf(shadowModel),
    shadowRest,
    variants: variantDrafts(variants),
    sticky: sticky === 'key' ? '' : textOf(sticky),
    rollback: textOf(rollback),
    rest: Object.keys(rest).length === 0 ? '' : JSON.stringify(rest, null, 2),
  };
}

function targetDraft(written: string | Written): TargetDraft {
  if (typeof written === 'string') return { ...blankTarget(), target: written };
  const { provider, model, priority, weight, price, ...rest } = written;
  const { input, output, ...otherPrices } = (price ?? {}) as Written;
  return {
    ...blankTarget(),
    target: `${textOf(provider)}/${textOf(model)}`,
    priority: textOf(priority),
    weight: textOf(weight),
    input: textOf(input),
    output: textOf(output),
    rest: Object.keys(otherPrices).length === 0 ? rest : { ...rest, price: otherPrices },
  };
}

/**
 * The model as culvert.yaml writes it. Text that is not a number goes along unchanged: the server names the wrong field.
 */
export function definitionOf(draft: ModelDraft): Written {
  const accounts = listIn(draft.accounts, ',');
  const plans = listIn(draft.plans, ',');
  const only = { ...(accounts.length > 0 && { accounts }), ...(plans.length > 0 && { plans }) };
  const fallbacks = listIn(draft.fallbacks, ',');
  const checks = listIn(draft.checks, ',');
  const minChars = draft.minChars.trim();
  const guards = listIn(draft.guards, ',');
  const variants = writtenVariants(draft.variants);
  const quality = { checks, ...(minChars !== '' && { min_chars: numberOrText(minChars) }) };
  return {
    ...(draft.type !== 'chat' && { type: draft.type }),
    targets: draft.targets.filter(({ target }) => target.trim() !== '').map(writtenTarget),
    ...(fallbacks.length > 0 && { fallbacks }),
    ...(draft.prefer !== '' && { prefer: draft.prefer }),
    ...((checks.length > 0 || minChars !== '') && { quality }),
    ...(draft.tier.trim() !== '' && { tier: draft.tier.trim() }),
    ...(draft.cost.trim() !== '' && { cost: numberOrText(draft.cost) }),
    ...(Object.keys(only).length > 0 && { only }),
    ...cachesOf(draft),
    ...(guards.length > 0 && { guards }),
    ...shadowOf(draft),
    ...(variants !== undefined && { variants, ...stickyOf(draft) }),
    ...objectIn(draft.rest),
  };
}

/** Throws a FieldProblem where a model would lack something that was typed. */
export function refuseLost({ targets, variants }: ModelDraft): void {
  const lost = targets.find((target) => {
    const { priority, weight, input, output } = target;
    return target.target.trim() === '' && `${priority}${weight}${input}${output}`.trim() !== '';
  });
  if (lost !== undefined) throw new FieldProblem(targetPath(targets, lost), 'Name the target, or remove it.');
  refuseNameless(variants);
}

/** Name of a target in the server's messages: lines without a target are not sent. */
export function targetPath(targets: readonly TargetDraft[], target: TargetDraft): string {
  const at = targets.filter((one) => one.target.trim() !== '').indexOf(target);
  return at === -1 ? `target-${target.row}` : `targets[${at}]`;
}

function shadowOf({ shadowShare, shadowModel, shadowRest }: ModelDraft): Written {
  const [share, model] = [shadowShare.trim(), shadowModel.trim()];
  if (share === '' && model === '') return {};
  const written = { ...(share !== '' && { share: numberOrText(share) }), ...(model !== '' && { model }) };
  return { shadow: { ...shadowRest, ...written } };
}

function cachesOf(draft: ModelDraft): Written {
  const { cacheRest, cacheScope, promptCache, semanticRest } = draft;
  const [ttl, model, error] = [draft.cacheTtl.trim(), draft.semanticModel.trim(), draft.semanticError.trim()];
  const semantic = { ...semanticRest, model, ...(error !== '' && { error }) };
  const cache = {
    ...cacheRest,
    ttl,
    ...(cacheScope !== '' && { scope: cacheScope }),
    ...(model !== '' && { semantic }),
  };
  return { ...(ttl !== '' && { cache }), ...(promptCache !== '' && { prompt_cache: promptCache }) };
}

function stickyOf({ sticky, rollback }: ModelDraft): Written {
  return { ...(sticky !== '' && { sticky }), ...(rollback !== '' && { rollback }) };
}

function writtenTarget({ target, priority, weight, input, output, rest }: TargetDraft): string | Written {
  const price = {
    ...(rest.price as Written | undefined),
    ...(input.trim() !== '' && { input: numberOrText(input) }),
    ...(output.trim() !== '' && { output: numberOrText(output) }),
  };
  const options = {
    ...rest,
    ...(priority.trim() !== '' && { priority: numberOrText(priority) }),
    ...(weight.trim() !== '' && { weight: numberOrText(weight) }),
    ...(Object.keys(price).length > 0 && { price }),
  };
  const name = target.trim();
  const slash = name.indexOf('/');
  if (Object.keys(options).length === 0 || slash === -1) return name;
  return { provider: name.slice(0, slash), model: name.slice(slash + 1), ...options };
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? '' : String(value);
}

function listOf(value: unknown): string {
  return Array.isArray(value) ? value.join(', ') : '';
}
