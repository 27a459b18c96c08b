import { isObject, type JsonObject, type JsonValue } from '../../kernel/json.ts';
import {
  BadAnswer,
  type JoinedTexts,
  joined,
  type OutsideCheck,
  type OutsideFinding,
  unitsBefore,
} from './outside-check.ts';

/** Characters of a request: its filters read up to some thousand tokens. */
const charsMax = 8_000;

/**
 * Google's Model Armor, `sanitizeUserPrompt` and `sanitizeModelResponse`
 * (cloud.google.com/security-command-center/docs/reference/model-armor/rest). `template`: projects/…/templates/….
 */
export function modelArmor(baseUrl: string, template: string): OutsideCheck {
  return ({ on, texts }) =>
    joined(texts, charsMax).map((piece) => ({
      url: `${baseUrl}/v1/${template}:${on === 'input' ? 'sanitizeUserPrompt' : 'sanitizeModelResponse'}`,
      body: { [on === 'input' ? 'userPromptData' : 'modelResponseData']: { text: piece.text } },
      read(answer) {
        const result = isObject(answer) ? answer.sanitizationResult : null;
        if (!isObject(result)) throw new BadAnswer('its answer has no sanitizationResult');
        const { filterMatchState: state, invocationResult: ran, filterResults } = result;
        if (ran !== undefined && ran !== 'SUCCESS') throw new BadAnswer('not all of its filters ran');
        if (state !== 'MATCH_FOUND' && state !== 'NO_MATCH_FOUND') throw new BadAnswer('its answer has no match state');
        if (state === 'NO_MATCH_FOUND') return { findings: [] };
        const findings: OutsideFinding[] = [];
        collect(filterResults ?? null, 'filter', piece, findings);
        return { findings: findings.length > 0 ? findings : [{ kind: 'filter', at: null }] };
      },
    }));
}

/** The filters that matched, each by its innermost result: personal data with their places. */
function collect(value: JsonValue, name: string, piece: JoinedTexts, found: OutsideFinding[]): void {
  if (Array.isArray(value)) for (const one of value) collect(one, name, piece, found);
  if (!isObject(value)) return;
  const { matchState, findings } = value;
  if (matchState === 'NO_MATCH_FOUND') return;
  if (matchState === 'MATCH_FOUND' && Array.isArray(findings)) {
    found.push(...findings.filter(isObject).map((finding) => sensitive(finding, piece)));
    return;
  }
  const before = found.length;
  for (const [key, child] of Object.entries(value)) collect(child ?? null, key, piece, found);
  if (matchState === 'MATCH_FOUND' && found.length === before) found.push({ kind: name, at: null });
}

/** A finding of Sensitive Data Protection. Numbers of 64 bits are strings, and a beginning of 0 is left out. */
function sensitive({ infoType, location }: JsonObject, { text, place }: JoinedTexts): OutsideFinding {
  const range = isObject(location) ? location.codepointRange : null;
  const kind = String(infoType);
  if (!isObject(range)) return { kind, at: null };
  const [start, end] = [Number(range.start ?? 0), Number(range.end)];
  if (!Number.isInteger(start) || !Number.isInteger(end)) throw new BadAnswer('a finding has no place');
  return { kind, at: place(unitsBefore(text, start), unitsBefore(text, end)) };
}
