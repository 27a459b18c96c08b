/** How people ask in one language. Nothing here changes what they ask for. */
interface AskingPhrases {
  /** At the beginning of a text, before anything but a letter. */
  openings: readonly string[];
  /** Openings where a comma or the end of a sentence follows: "Hello, …", but not "hello world". */
  greetings: readonly string[];
  /** "What is", before a word of `articles`: "what is safe" asks for more than "safe". */
  asking: readonly string[];
  articles: string;
  /** At the end of a text. */
  please: readonly string[];
  /** At the end of a text, after a comma or a sentence. */
  thanks: readonly string[];
  /** Words that show the language, where nothing of the above does. */
  shownBy: string;
}

const phrases = {
  en: {
    openings: [
      '(?:please |pls |kindly )?tell me',
      "i(?:'d like| would like| want| really want| need| really need) to know",
      '(?:can|could|would|will) you (?:please |kindly )?tell me',
      'please|pls|kindly',
      'so(?=,| what\\b| how\\b)',
    ],
    greetings: ['hello(?: there)?|hi(?: there)?|hey|good (?:morning|afternoon|evening)', 'thanks|thank you'],
    asking: ['what is', 'what are', 'what'],
    articles: 'the|an?',
    please: ['please|pls'],
    thanks: ['thanks|thank you|many thanks|thanks a lot'],
    shownBy:
      'the an of is are do does how what who when where why which to in and for with from my you i it can should',
  },
  de: {
    openings: [
      '(?:bitte )?(?:sag|sage|sagen sie) mir(?: bitte)?',
      '(?:kannst du|könntest du|können sie|könnten sie) mir (?:bitte )?sagen',
      'ich (?:möchte|würde|will)(?: gerne?)? wissen',
      'bitte',
    ],
    greetings: ['hallo|hi|hey|guten (?:tag|morgen|abend)|moin|servus', 'danke|vielen dank'],
    asking: ['was ist', 'was sind', 'wie lautet', 'wie lauten'],
    articles: 'der|die|das|eine?',
    please: ['bitte'],
    thanks: ['danke|danke schön|dankeschön|vielen dank|besten dank'],
    shownBy: 'der die das den dem des wie wo wann wer was warum welche welcher welches ich ist und für von mit',
  },
  fr: {
    openings: [
      'dis-moi|dites-moi',
      '(?:peux-tu|pourrais-tu|pouvez-vous|pourriez-vous) me dire',
      "(?:je voudrais|j'aimerais|je veux|je souhaite) savoir",
      "s'il (?:te|vous) pla[iî]t|svp|stp",
      'est-ce que',
    ],
    greetings: ['bonjour|bonsoir|salut|coucou', 'merci'],
    asking: ['quel est', 'quelle est', 'quels sont', 'quelles sont'],
    articles: "le|la|les|l'|une?",
    please: ["s'il (?:te|vous) pla[iî]t|svp|stp"],
    thanks: ["merci|merci beaucoup|merci d'avance"],
    shownBy: 'le les un une des du est et comment où quand qui quoi quel quelle pourquoi je dans pour avec',
  },
  es: {
    openings: [
      'dime|dígame|digame',
      '(?:me puedes|me podrías|me puede|me podría) decir|(?:puedes|podrías|puede|podría) decirme',
      '(?:quiero|quisiera|me gustaría|necesito) saber',
      'por favor',
    ],
    greetings: ['hola|buenos días|buenas tardes|buenas noches', 'gracias|muchas gracias'],
    asking: ['cu[aá]l es', 'cu[aá]les son'],
    articles: 'el|la|los|las|una?',
    please: ['por favor'],
    thanks: ['gracias|muchas gracias'],
    shownBy: 'el los las un una es y cómo dónde cuándo quién qué cuánto cuál del para con por en',
  },
  it: {
    openings: [
      'dimmi|mi dica',
      '(?:mi puoi|mi potresti|mi può|mi potrebbe) dire|(?:puoi|potresti|può|potrebbe) dirmi',
      '(?:voglio|vorrei|mi piacerebbe) sapere',
      'per favore|per piacere',
    ],
    greetings: ['ciao|buongiorno|buonasera|salve', 'grazie'],
    asking: ["qual è|qual'è", 'quali sono'],
    articles: "il|lo|la|l'|i|gli|le|una?",
    please: ['per favore|per piacere'],
    thanks: ['grazie|grazie mille|molte grazie'],
    shownBy: 'il lo gli un una è e come dove quando chi che quale quanto perché del della di per con',
  },
  pt: {
    openings: [
      'diga-me|diz-me|me diga|me diz',
      '(?:pode|podes|poderia|podias) (?:me dizer|dizer-me)',
      '(?:quero|queria|gostaria de|gostava de|preciso) saber',
      'por favor',
    ],
    greetings: ['olá|ola|oi|bom dia|boa tarde|boa noite', 'obrigad[oa]'],
    asking: ['qual é', 'quais são'],
    articles: 'o|a|os|as|uma?',
    please: ['por favor'],
    thanks: ['obrigad[oa]|muito obrigad[oa]'],
    shownBy: 'o os as um uma é e como onde quando quem que qual quanto do da para com por em não',
  },
} as const satisfies Record<string, AskingPhrases>;

export type AskingLanguage = keyof typeof phrases;

const languages = Object.keys(phrases) as AskingLanguage[];

const patterns = languages.map((language) => {
  const { openings, greetings, asking, articles, please, thanks, shownBy } = phrases[language] as AskingPhrases;
  const anyOf = (some: readonly string[]) => `(?:${some.join('|')})`;
  const start = [
    `${anyOf(openings)}(?![\\p{L}\\p{M}\\d'-])`,
    `${anyOf(greetings)}(?=[,.!:;\\n])`,
    `${anyOf(asking)}(?= (?:${articles})(?![\\p{L}\\p{M}]))`,
  ];
  return {
    language,
    start: new RegExp(`^[\\s¿¡]*${anyOf(start)}[\\s,.!:;]*`, 'iu'),
    end: new RegExp(`(?:[\\s,.!?;¡¿]${anyOf(please)}|[,.!?;¡] ?${anyOf(thanks)})[\\s.!?]*$`, 'iu'),
    shownBy: new Set(shownBy.split(' ')),
  };
});

/** At a text's beginning and at its end; further ones decide. */
const phrasesMax = 4;
/** An ending with its signs is never longer. */
const endCharsMax = 40;
/** German puts the verb last after "tell me": "Sag mir, was die Hauptstadt ist". */
const verbLast = /^was (.{1,200}) (ist|sind)[\s.?!]*$/iu;

/** Longer lines hold more than a question. */
const lineCharsMax = 400;
/** Names of the line that asks, among others. */
const label = /^\s*(?:question|query|q|user|frage|pregunta|domanda|pergunta)\s*[:=]\s+/iu;
/** Where the wording is what is asked for, each word decides. */
const aboutWords =
  /(?<!\p{L})(?:translat|spell|pronounc|rhym|say|said|mean|words?\b|phrase|sentence|grammar|written|übersetz|heißt|heisst|bedeut|wort|satz|tradu|trad[uú]c|dice|diz|dit|mots?\b|signifi|palabra|parola|palavra|frase)/iu;

/** The line of a text that asks, between all else, which holds what is asked about; null: no line asks for sure. */
function askingLine(text: string): { before: string; line: string; after: string } | null {
  const written = text.split('\n').filter((line) => line.trim() !== '');
  const labelled = written.filter((line) => label.test(line));
  const [line] = written.length === 1 ? written : labelled;
  if (line === undefined || (written.length > 1 && labelled.length !== 1) || line.length > lineCharsMax) return null;
  const start = text.indexOf(line) + (line.match(label)?.[0].length ?? 0);
  const end = text.indexOf(line) + line.length;
  return { before: text.slice(0, start), line: text.slice(start, end), after: text.slice(end) };
}

export interface StrippedText {
  before: string;
  /** Without how it is asked. */
  question: string;
  /** Each word of the question decides. */
  exact: boolean;
  after: string;
  /** Languages of each phrase that was taken off. */
  languages: AskingLanguage[][];
}

/** The question in a text. What is around it, or follows a colon, is given and not asked: it stays as it is. */
export function questionIn(text: string): StrippedText {
  const found = askingLine(text);
  if (found === null) return { before: text, question: '', exact: true, after: '', languages: [] };
  const { before, line, after } = found;
  const languages: AskingLanguage[][] = [];
  const begun = withoutPhrases(line, (rest, { start }) => rest.replace(start, ''), languages);
  const given = begun.search(/:\s/);
  if (given !== -1) {
    const question = begun.slice(0, given);
    return { before, question, exact: aboutWords.test(question), after: begun.slice(given) + after, languages };
  }
  if (aboutWords.test(begun)) return { before, question: begun, exact: true, after, languages };
  const question = withoutPhrases(begun, (rest, { end }) => atEnd(rest, end), languages);
  const ended = languages.some((of) => of.includes('de')) ? question.replace(verbLast, 'was $2 $1') : question;
  const again = withoutPhrases(ended, (rest, { start }) => rest.replace(start, ''), languages);
  return { before, question: again, exact: !isEnglish(again), after, languages };
}

function withoutPhrases(
  text: string,
  cut: (rest: string, pattern: (typeof patterns)[number]) => string,
  languages: AskingLanguage[][],
): string {
  let rest = text;
  for (let n = 0; n < phrasesMax; n += 1) {
    const shorter = patterns
      .map((pattern) => ({ language: pattern.language, bare: cut(rest, pattern) }))
      .filter(({ bare }) => bare !== rest && /[\p{L}\d]/u.test(bare))
      .sort((one, other) => one.bare.length - other.bare.length);
    const [{ bare } = { bare: rest }] = shorter;
    if (bare === rest) break;
    languages.push(shorter.filter((one) => one.bare === bare).map(({ language }) => language));
    rest = bare;
  }
  return rest;
}

function atEnd(text: string, end: RegExp): string {
  const tail = Math.max(0, text.length - endCharsMax);
  return text.slice(0, tail) + text.slice(tail).replace(end, '');
}

/** Languages that were taken off and that nothing else shows: neither the words that are left nor another phrase. */
export function hiddenLanguages(languages: readonly (readonly AskingLanguage[])[], words: readonly string[]): string[] {
  const alone = new Set(languages.flatMap((of) => (of.length === 1 ? of : [])));
  const hidden = languages.filter(
    (of) => !of.some((language) => shown(words, language) > 0 || (of.length > 1 && alone.has(language))),
  );
  return [...new Set(hidden.map((of) => of.join('|')))].sort();
}

/** Whether no other language has more of the words: "a" and "do" are words of several. */
function isEnglish(text: string): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{M}]+/gu) ?? [];
  const most = shown(words, 'en');
  return languages.every((language) => shown(words, language) <= most);
}

function shown(words: readonly string[], language: AskingLanguage): number {
  const { shownBy } = patterns.find((pattern) => pattern.language === language) ?? {};
  return words.reduce((sum, word) => sum + (shownBy?.has(word) === true ? 1 : 0), 0);
}
