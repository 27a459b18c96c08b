/** Words by which sites name the parts of a page, in `class`, `id` and the like; matched in lower case. */

const word = (words: string) => new RegExp(`(?:^|[\\s_-])(?:${words.trim().replace(/\s+/g, '|')})(?:$|[\\s_-]|\\d)`);

/** Around the text of a page, and at its sides. */
export const frameNames = word(`
  nav navi navbar navigation menu submenu menus topnav subnav mainnav breadcrumbs? breadcrumb-trail pagination pager
  page-numbers paging footer foot colophon sidebars? side-?bar widgets? widget-area rail marginal
  shar(?:e|es|ing|er|edaddy)(?:-?(?:bar|buttons?|links?|tools|box|this))? social(?:-?(?:media|share|sharing|bar|links?|icons?|buttons?))? addthis addtoany
  shariff sharebar share-?buttons? follow-?us subscribe subscription newsletter(?:-?(?:box|signup|form))? sign-?up mailchimp optin
  related(?:-?(?:posts?|articles?|content|news|links|stories|topics))? jp-relatedposts yarpp(?:-related)? crp_related recommend(?:ed|ations?) more-?(?:articles|stories|news|posts|from|on)
  read-?(?:more|next|also) also-?read most-?(?:read|popular|viewed) popular(?:-posts)? trending latest-?(?:news|posts) teasers? teaser-?list similar
  cookies? cookie-?(?:banner|notice|consent|bar|hint) consent gdpr cc-window banners? ads? adv advert advertisement advertising adsense anzeige werbung sponsor(?:ed)? promo promotion
  popup modal overlay lightbox login log-in register paywall(?:-?(?:box|teaser))? toolbar tools print(?:-?(?:link|button|only))? rating ratings voting vote
  outbrain taboola plista tags? tag-?(?:list|links|cloud) post-?tags entry-?tags tagcloud keywords categories cat-links entry-?(?:footer|utility) post-?(?:footer|meta|info|nav(?:igation)?|tags|date|author|categories)
  entry-?meta article-?(?:meta|footer|tags|tools|share|social|infos?) meta-?(?:data|info) meta byline by-line dateline posted-on
  author-?(?:box|bio|info|card|profile|description|meta)? about-?(?:the-)?author autor(?:en)?-?(?:box|info)? biography vcard
  prev-?next next-?prev nav-links nav-previous nav-next skip-link screen-reader-text sr-only visually-?hidden visuallyhidden
  copyright impressum disclaimer legal search searchform search-?(?:form|box) credits? hidden noprint no-print
  toc table-of-contents ez-toc-container inhaltsverzeichnis jump-?links anchor-?links slider carousel gallery-?nav
  site-?(?:header|footer|nav|info|branding|title|description) page-?(?:header-?nav|footer) header-?(?:nav|menu|top|bar) top-?bar masthead logo
  wp-caption-text caption-text image-?(?:caption|credit|copyright|source|text) img-?(?:caption|credit|copyright) photo-?(?:credit|caption) picture-?(?:caption|credit) media-?(?:caption|credit) gallery-caption bildunterschrift bildnachweis bildquelle
  infobox-?(?:author|autor) call-?to-?action cta feedback report-?error job-?(?:ads?|listing) shop-?(?:box|widget) product-?teaser`);

/** Names of places for readers' comments below a text. */
export const commentNames = word(`
  comments? comment-?(?:list|section|area|form|respond|wrapper|container|thread|body|count|links?) commentlist respond reply-?form disqus disqus_thread
  kommentare? kommentar-?(?:liste|bereich) reader-?comments? leserbriefe discussion livefyre fb-comments user-?comments? trackbacks? pingbacks? pings`);

/** The text itself: an article's body. */
export const bodyNames = word(`
  article-?(?:body|text|content|main|copy|detail|inner)(?:-?(?:text|content|inner))? articlebody articletext story-?(?:body|content|text) storybody post-?(?:body|content|text|entry|bodycopy) postbody postcontent
  entry-?(?:content|text|body) entrytext entry blog-?(?:content|post|text)? news-?(?:content|text|detail|body) content-?(?:body|text|main|article|inner|detail) page-?content main-?(?:content|text) body-?(?:text|copy|content)
  single-?(?:content|post) text-?(?:content|body) artikel artikel-?(?:text|content|inhalt|body) beitrag beitrags?-?(?:text|inhalt) inhalt rich-?text field-?name-?body field--name-body wysiwyg td-post-content e-content theme-?content
  ce-bodytext csc-textpic-text article`);
