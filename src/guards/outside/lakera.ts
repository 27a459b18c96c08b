import { objectIn } from '../../kernel/json.ts';
import { BadAnswer, listIn, type OutsideCheck, type OutsideQuestion } from './outside-check.ts';

/** Parts that an operator or a model wrote; all others came from outside. */
const roles: Readonly<Record<string, string>> = { system: 'system', assistant: 'assistant', reasoning: 'assistant' };

/** Lakera Guard, `/v2/guard` (docs.lakera.ai/docs/api/guard). Its project decides which detectors run. */
export function lakera(baseUrl: string, project: string | undefined): OutsideCheck {
  return ({ texts }) => [
    {
      url: `${baseUrl}/v2/guard`,
      body: {
        messages: texts.map(({ part, text }) => ({ role: roles[part] ?? 'user', content: text })),
        payload: true,
        breakdown: true,
        ...(project !== undefined && { project_id: project }),
      },
      read(answer) {
        const { flagged, payload, breakdown } = objectIn(answer);
        if (typeof flagged !== 'boolean') throw new BadAnswer('its answer does not say flagged');
        if (!flagged) return { findings: [] };
        const found = listIn(breakdown ?? [], 'breakdown').filter(({ detected }) => detected === true);
        const places = listIn(payload ?? [], 'payload').flatMap((one) => placeOf(one, texts));
        const located = new Set(places.map(({ kind }) => kind));
        const rest = found.map(({ detector_type: type }) => String(type)).filter((kind) => !located.has(kind));
        const findings = [...places, ...rest.map((kind) => ({ kind, at: null }))];
        return { findings: findings.length > 0 ? findings : [{ kind: 'flagged', at: null }] };
      },
    },
  ];
}

/** A place of its payload; where its text is elsewhere in the message, that counts. */
function placeOf(
  { message_id: id, start, end, text, detector_type: type }: Record<string, unknown>,
  texts: OutsideQuestion['texts'],
) {
  const index = Number(id ?? 0);
  const whole = texts[index]?.text;
  const from = Number(start);
  if (whole === undefined || typeof text !== 'string' || text === '' || !Number.isInteger(from)) {
    throw new BadAnswer('a place of its answer is in no message');
  }
  const isThere = whole.slice(from, Number(end)) === text;
  const at = isThere ? from : whole.indexOf(text);
  return at < 0 ? [] : [{ kind: String(type), at: { text: index, start: at, end: at + text.length } }];
}
