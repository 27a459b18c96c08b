import type { Check, Finding, Rule } from '../check.ts';
import type { InjectionKind } from '../kinds.ts';

/** A sentence that is written for a model to obey: the stem that it begins with, and its whole. */
interface Form {
  kind: InjectionKind;
  form: RegExp;
}

const form = (kind: InjectionKind, source: string): Form => ({
  kind,
  form: new RegExp(source.replaceAll(' ', '[\\s*_.,:"\'-]{1,4}'), 'iuy'),
});

const earlier = '(?:previous|prior|above|earlier|preceding|former|existing|original|initial|system|safety|other)';
const orders =
  '(?:instructions?|prompts?|rules?|directions?|directives?|commands?|guidelines?|guardrails?|restrictions?|messages?|context)';
const some = '(?:(?:all|any|every|each|of|the|these|those|your|my|our|its|and)[\\s*_]{1,4}){0,4}';

/** Overrides of what a model was asked before, in ten languages; then other signs in English. */
const forms: readonly Form[] = [
  form(
    'override',
    `(?:ignore|disregard|forget|override|bypass|discard|neglect) ${some}${earlier}(?: (?:and|or) \\w{1,12})? ${orders}`,
  ),
  form(
    'override',
    `(?:ignore|disregard|forget|override|bypass|discard) ${some}${orders} (?:above|before|given|so far|you)`,
  ),
  form(
    'override',
    '(?:ignore|disregard|forget) (?:everything|all|anything)(?: that)? (?:above|before|you|prior|previous)',
  ),
  form('override', '(?:new|updated|revised|real|actual) (?:system|secret|hidden) (?:prompt|instructions?)'),
  form(
    'override',
    '(?:ignorieren?|ignoriere|missachte|vergiss|vergessen)(?: sie)?(?: \\w{1,8}){0,2} (?:vorherigen?|bisherigen?|obigen?|vorigen?|früheren?|vorangegangenen?) (?:anweisung|instruktion|befehl|regel|vorgabe|nachricht)\\p{L}{0,3}',
  ),
  form(
    'override',
    '(?:ignore[zr]?|oublie[zr]?) (?:toutes )?(?:les|tes|vos|ces) (?:instructions|consignes|règles|directives) (?:précédentes|antérieures|ci|d’avant|données)',
  ),
  form(
    'override',
    '(?:ignor[ae]|olvid[ae]|descarta)(?: \\w{1,6}){0,2} (?:instrucciones|indicaciones|reglas|órdenes) (?:anteriores|previas|precedentes|de arriba)',
  ),
  form(
    'override',
    '(?:ignora|dimentica|trascura)(?:te)?(?: \\w{1,6}){0,2} (?:istruzioni|indicazioni|regole) (?:precedenti|anteriori|sopra|di prima)',
  ),
  form(
    'override',
    '(?:ignore|esqueça|desconsidere)(?: \\p{L}{1,6}){0,2} (?:instruções|orientações|regras) (?:anteriores|prévias|acima)',
  ),
  form(
    'override',
    '(?:zignoruj|ignoruj|pomiń|zapomnij)(?: \\p{L}{1,9}){0,2} (?:poprzednie|wcześniejsze|powyższe)(?: \\p{L}{1,9})? ?(?:instrukcje|polecenia|zasady|reguły)',
  ),
  form(
    'override',
    '(?:игнорируй|проигнорируй|забудь)(?:те)?(?: \\p{L}{1,5})? (?:предыдущие|прежние|вышеуказанные) (?:инструкции|указания|правила)',
  ),
  {
    kind: 'override',
    form: /(?:忽略|无视|無視|忘记|忘記)(?:掉)?(?:所有|全部|一切)?(?:你|您)?(?:的)?(?:之前|以前|以上|上面|上述|先前|前面|此前)(?:的)?(?:所有|全部|一切)?(?:的)?(?:指令|指示|提示|命令|规则|規則)/uy,
  },
  {
    kind: 'override',
    form: /(?:以前|これまで|上記|前|先ほど)の(?:すべての|全ての)?(?:指示|命令|ルール|プロンプト)[をは](?:すべて|全て)?(?:無視|忘れ)/uy,
  },
  form(
    'leak',
    `(?:reveal|print|show|repeat|output|display|disclose|leak|send|tell) (?:me )?(?:us )?(?:the|your|all)(?: (?:full|entire|complete|whole|exact|hidden|secret|initial|original)){0,3} (?:system (?:prompt|message|instructions?)|initial (?:prompt|instructions?)|hidden instructions?)`,
  ),
  form(
    'conceal',
    "(?:do not|don['’]?t|never) (?:tell|inform|mention|notify|reveal|alert)(?: (?:this|it|anything|that))?(?: to)? (?:the|your|any) (?:user|human|person|customer|operator)",
  ),
  form(
    'override',
    'you are (?:now|no longer) (?:DAN|jailbroken|unrestricted|free from|(?:bound|restricted) by|in (?:developer|god|debug|jailbreak|maintenance) mode)',
  ),
];

/** Signs that a model's own template puts around messages. */
const template: Form = {
  kind: 'template',
  form: /<\|(?:im_start|im_end|system|user|assistant|start_header_id|end_header_id|eot_id|begin_of_text|endoftext|channel|message|start|end|return|call)\|>|<start_of_turn>|<end_of_turn>|\[\/?INST\]|<<\/?SYS>>|<｜(?:User|Assistant|begin▁of▁sentence|end▁of▁sentence)｜>|\[(?:SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|<\/?system_prompt>/iuy,
};

/** Characters that nobody sees: tags but for flags, runs of signs without width, and signs that turn the direction. */
const hidden: Form = {
  kind: 'hidden',
  form: /(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]{0,6})(?:\u{e0001}|[\u{e0020}-\u{e007f}]){4,1000}|[\u200b-\u200d\u2060-\u2064\ufeff]{4,1000}|[\u{e0100}-\u{e01ef}]{3,1000}|[\u202d\u202e][^\n\u202c]{1,200}/uy,
};

/** Where a form can begin: in texts of ASCII, and in others. */
const beginnings = [
  /\b(?:ignor|disregard|forget|override|bypass|discard|neglect|new|updated|revised|real|actual|missacht|vergiss|vergessen|oublie|olvid|descarta|dimentica|trascura|desconsidere|reveal|print|show|repeat|output|display|disclose|leak|send|tell|do not|don|never|you)|<(?=[|<s/e])|\[(?=[ISATSO/_])/gi,
  /(?<!\p{L})(?:esqueça|zignoruj|pomiń|zapomnij|(?:про)?игнорируй|забудь)|忽略|无视|無視|忘记|忘記|以前|これまで|上記|前の|先ほど|<(?=｜)|[\u200b-\u200d\u2060-\u2064\ufeff\u202d\u202e]|\u{e0001}|[\u{e0020}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/giu,
];

const longest = 2_100;
/** A form of words. */
const formChars = 240;

/** A rule for instructions to a model, in texts that should hold none: results of tools, pages and documents. */
export function injection(kinds: readonly InjectionKind[]): Check {
  const ofKinds = (all: readonly Form[]) => all.filter(({ kind }) => kinds.includes(kind));
  const [ofWords, ofSigns, unseen] = [ofKinds(forms), ofKinds([template]), ofKinds([hidden])];
  return beginnings.map(
    (beginning): Rule => ({
      longest,
      next(text, from) {
        beginning.lastIndex = from;
        for (let begun = beginning.exec(text); begun !== null; begun = beginning.exec(text)) {
          const [sign] = begun;
          const tried = sign === '<' || sign === '[' ? ofSigns : invisible.test(sign.charAt(0)) ? unseen : ofWords;
          const found = formAt(tried, text, begun.index);
          if (found !== null) return found;
          beginning.lastIndex = begun.index + sign.length;
        }
        return null;
      },
      open(text, from) {
        const least = Math.max(from, text.length - longest);
        let open = Math.max(least, text.length - formChars);
        while (open > least && invisible.test(text.charAt(open))) open--;
        return open;
      },
    }),
  );
}

/** First unit of what `hidden` finds; a unit of UTF-16 is enough. */
const invisible = /[\u200b-\u200d\u2060-\u2064\u202d\u202e\ufeff\udc00-\udfff\udb40]/u;

function formAt(tried: readonly Form[], text: string, start: number): Finding | null {
  for (const { kind, form } of tried) {
    form.lastIndex = start;
    const found = form.exec(text);
    if (found !== null) return { kind, start, end: start + found[0].length };
  }
  return null;
}
