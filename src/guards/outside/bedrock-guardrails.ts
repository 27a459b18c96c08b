import { isObject, type JsonValue, objectIn } from '../../kernel/json.ts';
import { BadAnswer, listed, type OutsideCheck, type OutsideFinding, type OutsideQuestion } from './outside-check.ts';

/** Its 25 text units: it refuses a request with more. */
const charsMax = 25_000;

export interface Guardrail {
  /** Or its ARN. */
  id: string;
  /** A number, or `DRAFT`. */
  version: string;
}

/**
 * `ApplyGuardrail` of Amazon Bedrock (docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ApplyGuardrail.html).
 * It names what it matched and not where: each place with the same text counts.
 */
export function bedrockGuardrails(baseUrl: string, { id, version }: Guardrail): OutsideCheck {
  return ({ on, texts }) =>
    listed(texts, charsMax).map((content) => ({
      url: `${baseUrl}/guardrail/${encodeURIComponent(id)}/version/${version}/apply`,
      body: { source: on === 'input' ? 'INPUT' : 'OUTPUT', content: content.map((text) => ({ text: { text } })) },
      read(answer) {
        const { action, assessments } = objectIn(answer);
        if (action === 'NONE') return { findings: [] };
        if (action !== 'GUARDRAIL_INTERVENED') throw new BadAnswer('its answer has no action');
        const findings: OutsideFinding[] = [];
        collect(assessments ?? null, 'guardrail', texts, findings);
        return { findings: findings.length > 0 ? findings : [{ kind: 'guardrail', at: null }] };
      },
    }));
}

/** Interventions, at any depth of the assessments: an object with an `action` that is not `NONE`. */
function collect(value: JsonValue, policy: string, texts: OutsideQuestion['texts'], found: OutsideFinding[]): void {
  if (Array.isArray(value)) for (const one of value) collect(one, policy, texts, found);
  else if (isObject(value)) {
    const { action, match, type, name } = value;
    if (typeof action === 'string' && action !== 'NONE') {
      const kind = typeof type === 'string' ? type : typeof name === 'string' ? name : policy;
      const places = action === 'ANONYMIZED' && typeof match === 'string' ? placesOf(match, texts) : [];
      found.push(...(places.length > 0 ? places : [null]).map((at) => ({ kind, at })));
    } else for (const [key, child] of Object.entries(value)) collect(child ?? null, key, texts, found);
  }
}

function placesOf(match: string, texts: OutsideQuestion['texts']) {
  return texts.flatMap(({ text }, index) => {
    const places = [];
    for (
      let start = text.indexOf(match);
      match !== '' && start >= 0;
      start = text.indexOf(match, start + match.length)
    ) {
      places.push({ text: index, start, end: start + match.length });
    }
    return places;
  });
}
