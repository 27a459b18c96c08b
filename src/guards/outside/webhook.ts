import { objectIn } from '../../kernel/json.ts';
import { BadAnswer, listIn, type OutsideCheck, type OutsideFinding, unitsBefore } from './outside-check.ts';

/**
 * The operator's own service. Request: `{id, on, model, texts: [{part, text}]}`. Answer: `{verdict, findings}` with the
 * verdict `pass`, `block`, `flag` or `mask`, and findings `{kind, text, start, end}`: an index of `texts`, and places
 * in code points. `mask` needs findings.
 */
export function webhookCheck(url: string): OutsideCheck {
  return ({ id, on, model, texts }) => [
    {
      url,
      body: { id, on, model, texts: texts.map(({ part, text }) => ({ part, text })) },
      read(answer) {
        const { verdict, findings } = objectIn(answer);
        if (verdict === 'pass') return { findings: [] };
        if (verdict !== 'block' && verdict !== 'flag' && verdict !== 'mask') {
          throw new BadAnswer('its answer has no verdict pass, block, flag or mask');
        }
        const found = findings === undefined ? [] : listIn(findings, 'findings').map((one) => findingOf(one, texts));
        if (verdict === 'mask' && found.length === 0) throw new BadAnswer('its answer says mask and not what');
        const all = found.length > 0 ? found : [{ kind: 'finding', at: null }];
        return { findings: all, ...(verdict !== 'mask' && { action: verdict }) };
      },
    },
  ];
}

function findingOf(
  { kind, text: index, start, end }: Record<string, unknown>,
  texts: readonly { text: string }[],
): OutsideFinding {
  const text = typeof index === 'number' ? texts[index]?.text : undefined;
  const isPlace = Number.isInteger(start) && Number.isInteger(end) && Number(start) >= 0 && Number(start) < Number(end);
  if (text === undefined || !isPlace) throw new BadAnswer('a finding of its answer has no place in the texts');
  const at = { text: Number(index), start: unitsBefore(text, Number(start)), end: unitsBefore(text, Number(end)) };
  return { kind: typeof kind === 'string' ? kind : 'finding', at };
}
