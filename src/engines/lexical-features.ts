import { mixed, step, wordHash, wordSeed } from './lexical-hash.ts';

/** Takes one occurrence of a feature: a well mixed 32-bit hash, and what one occurrence weighs. */
export type TakeFeature = (hash: number, weight: number) => void;

const wordWeight = 1;
const stopWordWeight = 0.12;
const wordPairWeight = 0.4;
/** Together the parts of a word of ten letters weigh about what the word does: a slip of the pen keeps half of it. */
const partWeights: readonly (readonly [length: number, weight: number])[] = [
  [3, 0.22],
  [4, 0.22],
];
const signWeight = 0.6;
const signPairWeight = 1;

/** Only the first letters of a longer run have parts: it is a blob rather than a word. */
const partedCharsMax = 48;

// Each kind of feature starts from a different number, so that the word `abc` is not the part `abc`.
const pairSeed = 0x3c6ef372;
const partSeed = 0xa54ff53a;
const signSeed = 0x510e527f;
const otherSeed = 0x9b05688c;

/** Word borders in parts; no text has this character after normalisation to words. */
const border = 0x20;

/**
 * The features of a normalised text: words, pairs of neighbours, parts of words; in scripts that part no words, signs
 * and pairs of signs. A text without any gives its characters.
 */
export function addFeatures(text: string, take: TakeFeature): void {
  let found = 0;
  let previous = 0;
  let previousIsStop = true;
  let at = 0;
  while (at < text.length) {
    const kind = charClass(text.charCodeAt(at));
    if (kind === 'between') {
      at += 1;
      continue;
    }
    found += 1;
    const start = at;
    if (kind === 'sign') {
      at = takeSigns(text, start, take);
      previous = 0;
      continue;
    }
    let hash = wordSeed;
    while (at < text.length && charClass(text.charCodeAt(at)) === 'letter') {
      hash = step(hash, text.charCodeAt(at));
      at += 1;
    }
    const word = mixed(hash);
    const stop = isStopWord(hash >>> 0);
    take(word, stop ? stopWordWeight : wordWeight);
    if (!stop) takeParts(text, start, Math.min(at, start + partedCharsMax), take);
    if (previous !== 0 && !(stop && previousIsStop)) take(mixed(step(step(pairSeed, previous), word)), wordPairWeight);
    previous = word;
    previousIsStop = stop;
  }
  if (found === 0) for (let one = 0; one < text.length; one += 1) take(mixed(step(otherSeed, text.charCodeAt(one))), 1);
}

/** A run of signs: each of them, and each with the one before it. Returns where it ends. */
function takeSigns(text: string, start: number, take: TakeFeature): number {
  let at = start;
  let previous = 0;
  while (at < text.length && charClass(text.charCodeAt(at)) === 'sign') {
    const code = text.codePointAt(at)!;
    at += code > 0xffff ? 2 : 1;
    take(mixed(step(signSeed, code)), signWeight);
    if (previous !== 0) take(mixed(step(step(signSeed, previous), code)), signPairWeight);
    previous = code;
  }
  return at;
}

/** The word's parts of three and four characters; its borders count as characters. */
function takeParts(text: string, start: number, end: number, take: TakeFeature): void {
  for (const [length, weight] of partWeights) {
    for (let first = start - 1; first + length <= end + 1; first += 1) {
      let hash = step(partSeed, length);
      for (let at = first; at < first + length; at += 1) {
        hash = step(hash, at < start || at >= end ? border : text.charCodeAt(at));
      }
      take(mixed(hash), weight);
    }
  }
}

/** `letter`: part of a word. `sign`: counts alone. `between`: parts words. */
type CharClass = 'letter' | 'sign' | 'between';

const letter = /[\p{L}\p{M}\p{N}]/u;
/** Scripts without blanks between words, and Hangul, whose syllables say more than runs of three of them. */
const signs =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

const classes: readonly (CharClass | undefined)[] = [undefined, 'letter', 'sign', 'between'];
/** By code unit, filled as characters come: 0 is not seen yet. */
const seen = new Uint8Array(65_536);

/**
 * Class of a UTF-16 code unit. Both halves of a character beyond 16 bits are signs: rare letters, rare ideographs,
 * emojis.
 */
function charClass(code: number): CharClass {
  return classes[seen[code]!] ?? look(code);
}

function look(code: number): CharClass {
  const character = String.fromCharCode(code);
  const isSign = (code >= 0xd800 && code <= 0xdfff) || (signs.test(character) && letter.test(character));
  const found = isSign ? 'sign' : letter.test(character) ? 'letter' : 'between';
  seen[code] = classes.indexOf(found);
  return found;
}

/**
 * Words without meaning for a text's subject, of the most written languages; part of the model, so never changed. Words
 * that carry meaning in another of them are left out (`die`, `war`).
 */
const stopWords = `
a about after all an and any are as at be because been before being between both but by can could did do does doing
down during each few for from had has have having he her here hers him his how i if in into is it its just ll m me more
most my no nor not now of off on once only or other our out over own re s same she should so some such t than that the
their them then there these they this those through to too under until up very ve was we were what when where which
while who whom why will with would you your d am
aber als am an auch auf aus bei bis da das dass dein dem den der des dies diese dieser dir doch du durch ein eine
einem einen einer eines er es für hat haben hatte ich ihr im in ist ja kann mein mich mir mit nach nicht noch nun nur
ob oder schon sehr sein sich sie sind so um und uns von vor was wenn wer werden wie wir wird zu zum zur über
au aux avec ce ces cette dans de des du elle en est et eu il ils je la le les leur lui mais me même mes moi mon ne nos
notre nous on ou où par pas pour qu que qui sa se ses sont sur ta te tes toi tu un une vos votre vous été être
al algo como con cuando de del desde donde el ella ellos en entre era eres es esta este esto está ha hasta hay la las le
les lo los me mi mis muy más ni no nos o para pero por porque que quien se ser si sobre su sus también te tu un
una uno unos y ya yo
che chi ci come con cui da dal dalla dei del della delle di e ed gli ha hanno ho i il io la le lei lo loro ma mi ne nel
nella noi non o per più quale quando quello questa questo se sei si sono su suo sua tra tu un una voi è
ao aos até com como da das de dela dele deles do dos e ela eles em entre era essa esse esta este eu foi há isso isto já
mais mas me meu minha muito na nas no nos não nós o os ou para pela pelo por qual quando que quem se sem ser seu sua só
são também te um uma você à é
aan als ben bij dan dat de deze dit door een en er ge heb hebben heeft het hij hoe ik in is je kan maar me met mijn na
naar niet nog nu of om onder ons ook op over te u uit veel voor was wat we wel werd wie wij wordt ze zich zij zijn zo
`;

let hashes: ReadonlySet<number> | null = null;

/** By `wordHash`; as good as exact, and no word has to be cut out of its text for it. */
function isStopWord(hash: number): boolean {
  hashes ??= new Set(stopWords.trim().split(/\s+/).map(wordHash));
  return hashes.has(hash);
}
