/** Words that sites put between and around the paragraphs of an article; lower case, without punctuation. */

/** Above teasers: links that follow go with it. */
export const teaserLabels: ReadonlySet<string> = phrases(`
  also read, breaking news, don t miss, latest news, more news, more stories, most popular, most read, next article,
  popular this week, read also, read more, recent articles, recommended, related, related articles, related news,
  related posts, related stories, see more, trending, you may also like, you might also like, das könnte sie auch
  interessieren, lesen sie auch, mehr zum thema, lire aussi, sur le même sujet, à lire aussi, leggi anche, lea también,
  lee también, te puede interesar, leia mais, leia também, lees ook, читайте также, 相关阅读, 関連記事, 관련 기사, 관련기사`);

/** Buttons, and places of advertisements; numbers next to them do not count. */
export const buttons: ReadonlySet<string> = phrases(`
  ad, ads, advert, advertisement, advertisements, anzeige, werbung, publicidad, publicidade, publicité, pubblicità, iklan,
  реклама, 広告, back to top, buffer, caption, click to tweet, close, comment, comments, continue reading, continue reading
  below, copy link, email, enlarge image, follow, follow us, gallery, get short url, home, learn more, leave a comment,
  loading, log in, media playback is unsupported on your device, menu, mute, pause, photos, pin, pin it, play, post
  comment, print, read more, search, share, share on facebook, share on twitter, share this, sign in, sign up, skip to
  content, bild anzeigen, externer inhalt, pinnen, teilen, drucken, kommentieren, reklama, quellen ausblenden, story continues below, subscribe, tweet, video, view all, view gallery`);

/** Words of a date and its time; numbers occur among them. */
export const dateWords: ReadonlySet<string> = phrases(`
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
