import { buttons, dateWords, teaserLabels } from './aside-phrases.ts';
import { isForm, type TextBlock } from './text-blocks.ts';

/** A paragraph has at least this size; the text of a page begins with the first and ends with the last. */
const paragraphSize = 80;
/** A call to subscribe is no longer. */
const callSizeMax = 200;

/** Finds parts among a page's text that do not belong to it: buttons, teasers, calls to subscribe, its date. */
export function asidesIn(blocks: readonly TextBlock[]): TextBlock[] {
  const first = blocks.findIndex(isParagraph);
  const last = blocks.findLastIndex(isParagraph);
  let underLabel = false;
  return blocks.filter((block, at) => {
    const isLabel = isTeaserLabel(block);
    underLabel = isLabel || (underLabel && isLink(block) && !isForm(block));
    if (isForm(block)) return isLabel;
    return (
      underLabel ||
      isButton(block) ||
      isTeaser(block) ||
      isCredit(block) ||
      isCall(block, at < first || at > last) ||
      ((at < first || at > last) && isDate(block)) ||
      isRepeated(block, blocks.slice(Math.max(0, at - nearBlocks), at))
    );
  });
}

function isParagraph({ size, linkSize }: TextBlock): boolean {
  return size >= paragraphSize && linkSize < 0.3 * size;
}

function isLink({ size, linkSize }: TextBlock): boolean {
  return linkSize >= 0.8 * size;
}

function isTeaserLabel({ words, linkSize, size }: TextBlock): boolean {
  if (words.length > 6) return false;
  const text = words.join(' ');
  if (teaserLabels.has(text) || labelStart.test(text)) return true;
  return words[0] === 'more' && /^(?:from|in|on)$/.test(words[1] ?? '') && words.length <= 5 && linkSize < size;
}

const labelStart =
  /^(?:auch interessant|(?:auch )?(?:das )?könnte (?:sie|dich|ihnen)|ähnliche (?:artikel|beiträge|nachrichten|themen|seiten)|(?:weitere?|mehr) (?:artikel|beiträge|informationen|infos|themen|meldungen|nachrichten|news|links|tipps|aus|zu|zum|zur|über|auf)\b|weiter(?:führende|lesen)|zum weiterlesen|zum thema$|verwandte|passend(?:e|er)? (?:dazu|artikel|themen)|schon gelesen|lesen sie|lies auch|lesetipps?|(?:unsere )?(?:empfehlungen|empfohlene)|top themen|aktuelle (?:artikel|beiträge|nachrichten|themen|meldungen|news)|meistgelesen|neueste|zobacz|czytaj|przeczytaj|polecamy|polecane|veja (?:também|mais)|leia|lea (?:también|además)|ver también|te puede|(?:à|a) lire|lire (?:aussi|la suite|plus)|voir aussi|dans la même|sur le même|articles? (?:similaires|liés)|leggi|potrebbe interessarti|related|similar (?:posts|articles)|more (?:stories|news|articles)|you (?:may|might) (?:also )?like|recommended|read (?:more|next|also)|lust auf mehr)/u;

function isButton({ words }: TextBlock): boolean {
  return words.length <= 8 && buttons.has(words.filter((word) => !/^\d+$/.test(word)).join(' '));
}

/** A link alone that shouts, or says that it leads elsewhere. */
function isTeaser(block: TextBlock): boolean {
  if (!isLink(block)) return false;
  const text = block.text.trim();
  const isLoud = block.words.length >= 4 && /\p{Lu}/u.test(text) && text === text.toUpperCase();
  return isLoud || teaserStart.test(text);
}

const teaserStart =
  /^[(*+»>\s]*(?:vea también|ver también|mire|puedes ver|lea además|te puede interesar|czytaj (?:też|także|więcej)|zobacz (?:też|także)|przeczytaj|veja também|veja mais|mehr zum thema|mehr dazu|weiterlesen|auch interessant|à lire|voir aussi|related|read more|see more|see also|also see|also read|also|read also|read next|more|watch|don.t miss|leggi anche|lire aussi|lea también|leia também|lesen sie auch|lees ook|читайте также)\b.{0,20}:/iu;

/** Within the text, a longer one may be part of it. */
function isCall({ element, size, text }: TextBlock, outside: boolean): boolean {
  if (size >= (outside ? callSizeMax : paragraphSize) || element.closest('li') !== null) return false;
  return calls.test(text.trim());
}

/** Names of photographers and agencies, where no caption is. */
const creditStart =
  /^\(?(?:fotos?|bild(?:er|nachweis|quelle)?|photos?|images?|credits?|titelbild|beitragsbild|photo credit|image credit|crédits? photos?|crédito|fuente|fonte|fot\.|quelle|source)\s?[:©]/iu;
const creditSizeMax = 100;

function isCredit({ size, text }: TextBlock): boolean {
  return size <= creditSizeMax && creditStart.test(text.trim());
}

const calls =
  /^(?:(?:please )?(?:subscribe to|sign up (?:for|to)|follow (?:us|me|our) |click here to |get the .{1,30} app|like this (?:story|article)|share your thoughts|tell us what you think|want more stories|already a subscriber|copyright|©|ⓒ|\(c\) \d{4}|first published:|filed under|posted in|tags?:|was this (?:article|page) helpful|if you (?:enjoyed|like[d]?) (?:this|reading)|do you want to be informed|for the latest (?:stories|news)|get the latest|subscribe now|support (?:us|our)|become a (?:member|subscriber)|this (?:article|post|content) is the copyrighted|this post (?:contains|may contain) (?:affiliate|references)|abonnier(?:e|en sie)|unterstütze? |gefällt (?:dir|ihnen) |möchten sie den artikel|den artikel .{0,40}teilen|artikel teilen|teilen mit|jetzt (?:anmelden|abonnieren|spenden)|melden sie sich|melde dich|folge(?:n sie)? uns|kommentare sind geschlossen|alle angaben ohne gewähr|für links auf dieser seite|\\*?(?:werbung|anzeige)[.:,]|materiał chroniony|suscríbete|síguenos|hazte (?:miembro|socio)|inscreva-se|siga-nos|assine |abonnez-vous|inscrivez-vous|suivez-nous|iscriviti|join the (?:discussion|conversation)))|all rights reserved\.?$|subject to copyright|무단전재/iu;

/** One alone at the head or the end of a page, with its year or a word that says what of. */
function isDate({ words }: TextBlock): boolean {
  return (
    words.length <= 16 &&
    words.some((word) => /^(?:(?:19|20)\d\d|posted|published|updated)$/.test(word)) &&
    words.every((word) => dateWords.has(word) || /^\d+(?:st|nd|rd|th|am|pm|h|z|t\d+)?$/.test(word))
  );
}

const nearBlocks = 3;

/** A caption that is written for narrow windows too; verses may say the same again, in one element. */
function isRepeated({ element, size, words }: TextBlock, before: readonly TextBlock[]): boolean {
  if (size < 25) return false;
  const text = words.join(' ');
  return before.some((other) => other.element !== element && other.size === size && other.words.join(' ') === text);
}
