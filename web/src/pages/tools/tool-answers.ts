// Answers of `/v1/tools`, as far as they are shown. All texts come from strangers.

/** A read page; parts that were not requested are absent. */
export interface ScrapedPage {
  markdown?: string;
  text?: string;
  html?: string;
  rawHtml?: string;
  summary?: string;
  links?: readonly string[];
  images?: readonly string[];
  /** A data URL. */
  screenshot?: string;
  metadata: { title?: string; url?: string; sourceURL?: string; statusCode?: number; error?: string } & Record<
    string,
    unknown
  >;
  warning?: string;
}

export interface ScrapeAnswer {
  data: ScrapedPage;
  warning?: string;
}

export interface SearchHit extends Partial<ScrapedPage> {
  url: string;
  title: string;
  description?: string;
  publishedDate?: string;
  /** Address of an image on the page at `url`. */
  imageUrl?: string;
}

export interface SearchAnswer {
  data: Partial<Record<'web' | 'news' | 'images', readonly SearchHit[]>>;
  provider: string;
  cached: boolean;
  warning?: string;
}

export interface MapAnswer {
  links: readonly { url: string; title?: string; description?: string }[];
  warning?: string;
}

export interface CrawlState {
  id: string;
  status: 'scraping' | 'completed' | 'failed' | 'cancelled';
  error?: string;
  completed: number;
  failed: number;
  total: number;
  creditsUsed: number;
  createdAt: string;
  expiresAt?: string;
}

export interface ListedCrawl extends CrawlState {
  url: string;
}

export interface CrawlPages extends CrawlState {
  url: string;
  /** That gets its pages. */
  collection: string | null;
  data: ScrapedPage[];
  /** Address of the next part. */
  next: string | null;
}

export interface CrawlErrors {
  errors: readonly { id: string; timestamp: string; url: string; code: string; error: string }[];
  robotsBlocked: readonly string[];
}
