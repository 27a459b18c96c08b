import { isForm, type TextBlock } from './text-blocks.ts';

/** A paragraph has at least this size; the text of a page begins with the first and ends with the last. */
const paragraphSize = 80;
/** A call to subscribe is no longer. */
const callSizeMax = 300;

/**
 * Finds parts among a page's text that do not belong to it: buttons, teasers, calls to subscribe, its date. Where all parts
 * look so, none is: a page that says only this says this.
 */
export function asidesIn(blocks: readonly TextBlock[]): TextBlock[] {
  const found = likelyAsidesIn(blocks);
  return found.length === blocks.length ? [] : found;
}

function likelyAsidesIn(blocks: readonly TextBlock[]): TextBlock[] {
  const first = blocks.findIndex(isParagraph);
  const last = blocks.findLastIndex(isParagraph);
  const cards = new Set(cardsIn(blocks, last));
  let underLabel = false;
  return blocks.filter((block, at) => {
    const isLabel = isTeaserLabel(block);
    underLabel = isLabel || (underLabel && isLink(block) && !isForm(block));
    if (isForm(block)) return isLabel;
    const isOutside = at < first || at > last;
    return (
      underLabel ||
      isButton(block) ||
      isTeaser(block) ||
      fault.test(block.text.trim()) ||
      isCredit(block) ||
      cards.has(block) ||
      isCall(block, isOutside) ||
      ((isOutside || datedWords.has(block.words[0] ?? '')) && isDate(block)) ||
      isRepeated(block, blocks.slice(Math.max(0, at - nearBlocks), at))
    );
  });
}

function isParagraph(block: TextBlock): boolean {
  const { size, linkSize, text } = block;
  return size >= paragraphSize && linkSize < 0.3 * size && !(size < callSizeMax && calls.test(text.trim()));
}

/** Finds who wrote the page, or whom to ask: a label or a name at its end, and all below. */
function cardsIn(blocks: readonly TextBlock[], last: number): readonly TextBlock[] {
  for (let at = Math.max(1, Math.ceil(blocks.length / 2)); at < blocks.length; at += 1) {
    const { words = [], text = '' } = blocks[at] ?? {};
    if (at >= last && contactLabel.test(text.trim())) return blocks.slice(at);
    if (authorLabel.test(text.trim()) && blocks.length - at <= cardBlocksMax) return blocks.slice(at);
    const next = blocks[at + 1];
    const isLast = next !== undefined && at + 2 >= blocks.length;
    if (isLast && words.length >= 2 && words.length <= 4 && isAbout(next, words))
      return [blocks[at] as TextBlock, next];
  }
  const end = blocks.at(-1);
  return end !== undefined && blocks.length > 3 && biography.test(end.text.trim()) ? [end] : [];
}

const cardBlocksMax = 4;
const authorLabel =
  /^(?:über (?:den|die) autor(?:in(?:nen)?|en)?|zur person|(?:der|die) autor(?:in)?|about the authors?|sobre el autor|à propos de l.auteur|o autorze)\s*:?$/iu;
const contactLabel =
  /^(?:(?:presse|media )?kontakt|contact|(?:ihre? )?ansprechpartner(?:in)?(?: für .{0,40}| zum thema)?|contacto|rückfragen(?: an)?)\s*:?$/iu;
/** "Jane Doe is the head of …": a name, what they are, and where. */
const biography =
  /^\p{Lu}\p{L}+(?: \p{Lu}[\p{L}.-]+){1,2} (?:is (?:an? |the |our )?|ist (?:ein(?:e)? |der |die )?|schreibt |writes |covers )(?:freelance|freie|senior|staff|founder|gründer|head|chef|editor|author|autor|writer|reporter|journalist|redakteur|professor|director|seit |about |for |für |über )/u;

/** A sentence about the name above it. */
function isAbout({ words, text }: TextBlock, name: readonly string[]): boolean {
  return (
    name.every((word, i) => words[i] === word) || /^(?:is|ist|war|schreibt|writes|arbeitet|works)\s/u.test(text.trim())
  );
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
  /^(?:auch interessant|(?:auch )?(?:das )?könnte (?:sie|dich|ihnen)|ähnliche (?:artikel|beiträge|nachrichten|themen|seiten)|diese (?:artikel|beiträge|themen) könnten|(?:weitere?|mehr) (?:artikel|beiträge|informationen|infos|themen|meldungen|nachrichten|news|links|\p{L}*tipps|kolumnen|aus|zu|zum|zur|über|auf)\b|weiter(?:führende|lesen)|zum weiterlesen|zum thema$|verwandte|passend(?:e|er)? (?:dazu|artikel|themen)|schon gelesen|lesen sie|lies auch|lesetipps?|(?:unsere )?(?:empfehlungen|empfohlene)|top themen|aktuelle (?:artikel|beiträge|nachrichten|themen|meldungen|news)|meistgelesen|neueste|zobacz|czytaj|przeczytaj|polecamy|polecane|veja (?:também|mais)|leia|lea (?:también|además)|ver también|te puede|(?:à|a) lire|lire (?:aussi|la suite|plus)|voir aussi|dans la même|sur le même|articles? (?:similaires|liés)|leggi|potrebbe interessarti|related|similar (?:posts|articles)|more (?:stories|news|articles)|you (?:may|might) (?:also )?like|recommended|read (?:more|next|also)|lust auf mehr)/u;

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
  /^[(*+»>\s]*(?:vea también|ver también|mire|puedes ver|lea además|te puede interesar|czytaj (?:też|także|więcej)|zobacz (?:też|także)|przeczytaj|veja também|veja mais|mehr zum thema|mehr dazu|weiterlesen|auch interessant|à lire|voir aussi|related|read more|see more|see also|also see|also read|also|read also|read next|more|watch|don.t miss|leggi anche|lire aussi|lea también|leia também|lesen sie auch|lees ook|читайте также|lesen sie (?:hier|mehr)|lies (?:hier|auch))(?!\p{L}).{0,20}:/iu;

/** Within the text, a longer one may be part of it. */
function isCall({ element, size, text }: TextBlock, outside: boolean): boolean {
  if (size >= (outside ? callSizeMax : paragraphSize) || element.closest('li') !== null) return false;
  return calls.test(text.trim());
}

/** Names of photographers and agencies, where no caption is. */
const creditStart =
  /^\(?(?:fotos?|bild(?:er|nachweis|quelle)?|photos?|images?|credits?|titelbild|beitragsbild|photo credit|image credit|crédits? photos?|crédito|fuente|fonte|fot\.|quelle|source)\s?[:©]/iu;
const creditSizeMax = 100;
const captionSizeMax = 200;
/** Ends a caption. */
const creditEnd = /(?:[\s(](?:fotos?|photos?|bild|crédit)\s?:|©|\(c\))\s?[\p{L}\d][^.!?:]{1,40}\)?$/iu;

function isCredit({ size, text }: TextBlock): boolean {
  const words = text.trim();
  return (size <= creditSizeMax && creditStart.test(words)) || (size <= captionSizeMax && creditEnd.test(words));
}

const calls =
  /^[\s([*„"»>–—-]*(?:(?:please )?(?:subscribe to|sign up (?:for|to)|follow (?:us|me|our) |click here to |get (?:the|our) .{1,40} (?:app|by email|newsletter|daily edition)|help us continue|we recommend the best|bonus value is|this (?:site|website) uses (?:akismet|cookies)|suggested citation|privacy & cookies|like this (?:story|article)|share your thoughts|tell us what you think|want more stories|already a subscriber|copyright|©|ⓒ|\(c\) \d{4}|first published:|filed under|posted in|tags?:|was this (?:article|page) helpful|if you (?:enjoyed|like[d]?) (?:this|reading)|do you want to be informed|for the latest (?:stories|news)|get the latest|subscribe now|support (?:us|our)|become a (?:member|subscriber)|this (?:article|post|content) is the copyrighted|this post (?:contains|may contain) (?:affiliate|references)|abonnier(?:e|en sie)|unterstütze? |gefällt (?:dir|ihnen) |möchten sie den artikel|den artikel .{0,40}teilen|artikel teilen|teilen mit|jetzt (?:anmelden|abonnieren|spenden)|melden sie sich|melde dich|folge(?:n sie)? uns|kommentare sind geschlossen|alle angaben ohne gewähr|für links auf dieser seite|(?:werbung|anzeige)[.:,]|diese (?:website|seite) (?:verwendet|nutzt|benutzt) (?:akismet|cookies)|datenschutz & cookies|lust auf mehr|mit diesem button|klicken sie (?:auf den|hier)|dieses? .{1,30} als pdf|lesen sie das .{1,30} magazin|die aktuelle ausgabe|diese[rs] (?:artikel|beitrag|text) (?:kann|enthält) .{0,20}(?:links|werbung|affiliate)|verraten sie .{0,30}kommentare|keine kommentare|hier geht es zu|czytasz właśnie|materiał chroniony|suscríbete|s[íi]guenos|[¡]?mira lo que tiene|h[áa]gase|hazte (?:miembro|socio)|inscreva-se|siga-nos|assine |abonnez-vous|inscrivez-vous|suivez-nous|iscriviti|join the (?:discussion|conversation)))|all rights reserved\.?$|subject to copyright|무단전재/iu;

/** A warning of PHP. */
const fault = /^(?:warning|deprecated|notice|fatal error): .{5,200} (?:in|on line) /iu;

/** One alone at the head or the end of a page, with its year or a word that says what of. */
function isDate({ words }: TextBlock): boolean {
  return (
    words.length <= 16 &&
    words.some((word) => /^(?:(?:19|20)\d\d|posted|published|updated|aktualisiert|publiziert)$/.test(word)) &&
    words.every((word) => dateWords.has(word) || /^\d+(?:st|nd|rd|th|am|pm|h|z|t\d+)?$/.test(word))
  );
}

const datedWords: ReadonlySet<string> = new Set(
  'posted published updated modified aktualisiert publiziert veröffentlicht actualizado publicado'.split(' '),
);

const nearBlocks = 3;

/** A caption that is written for narrow windows too; verses may say the same again, in one element. */
function isRepeated({ element, size, words }: TextBlock, before: readonly TextBlock[]): boolean {
  if (size < 25) return false;
  const text = words.join(' ');
  return before.some((other) => other.element !== element && other.size === size && other.words.join(' ') === text);
}

/** Words that sites put between and around the paragraphs of an article; lower case, without punctuation. */

/** Above teasers: links that follow go with it. */
const teaserLabels: ReadonlySet<string> = phrases(`
  also read, breaking news, don t miss, latest news, more news, more stories, most popular, most read, next article,
  popular this week, read also, read more, recent articles, recommended, related, related articles, related news,
  related posts, related stories, see more, trending, you may also like, you might also like, das könnte sie auch
  interessieren, lesen sie auch, mehr zum thema, lire aussi, sur le même sujet, à lire aussi, leggi anche, lea también,
  lee también, te puede interesar, leia mais, leia também, lees ook, читайте также, 相关阅读, 関連記事, 관련 기사, 관련기사`);

/** Buttons, and places of advertisements; numbers next to them do not count. */
const buttons: ReadonlySet<string> = phrases(`
  ad, ads, advert, advertisement, advertisements, anzeige, werbung, publicidad, publicidade, publicité, pubblicità, iklan,
  реклама, 広告, back to top, buffer, caption, click to tweet, close, comment, comments, continue reading, continue reading
  below, copy link, email, enlarge image, follow, follow us, gallery, get short url, home, learn more, leave a comment,
  loading, log in, media playback is unsupported on your device, menu, mute, pause, photos, pin, pin it, play, post
  comment, print, read more, search, share, share on facebook, share on twitter, share this, sign in, sign up, skip to
  content, bild anzeigen, externer inhalt, pinnen, teilen, drucken, kommentieren, reklama, quellen ausblenden, story continues below, subscribe, tweet, video, view all, view gallery`);

/** Words of a date and its time; numbers occur among them. */
const dateWords: ReadonlySet<string> = phrases(`
  january, february, march, april, may, june, july, august, september, october, november, december, jan, feb, mar, apr, jun,
  jul, aug, sep, sept, oct, nov, dec, monday, tuesday, wednesday, thursday, friday, saturday, sunday, mon, tue, wed, thu,
  fri, sat, sun, am, pm, bst, cest, cet, edt, est, gmt, ist, pdt, pst, utc, at, by, date, first, last, min, minutes,
  modified, on, posted, published, read, updated, aktualisiert, publiziert, veröffentlicht, am, um, uhr, stand, von, vom, januar,
  februar, märz, mai, juni, juli, oktober, dezember, montag, dienstag, mittwoch, donnerstag, freitag, samstag, sonntag,
  actualizado, publicado, de, enero, febrero, marzo, abril, mayo, junio, julio, agosto, septiembre, octubre, noviembre,
  diciembre, janvier, février, mars, avril, juin, juillet, août, septembre, octobre, novembre, décembre, le, à, publié`);

function phrases(list: string): Set<string> {
  return new Set(list.split(',').map((phrase) => phrase.trim().replace(/\s+/g, ' ')));
}
