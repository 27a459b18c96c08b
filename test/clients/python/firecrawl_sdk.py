"""firecrawl-py over a gateway's web tools, at the root: it drops the path of its address. Both of its APIs."""

import sys
import threading
import warnings

warnings.simplefilter("ignore", DeprecationWarning)
from firecrawl import Firecrawl
from firecrawl.v1 import V1FirecrawlApp
from firecrawl.v2.utils.error_handler import BadRequestError, FirecrawlError, UnauthorizedError

url, key, site = sys.argv[1:4]
article = f"{site}/article"
silent = f"{site}/silent"
checks = 0


def holds(what, seen):
    global checks
    checks += 1
    assert seen, f"{what}: {seen!r}"


def equal(what, seen, wanted):
    holds(f"{what}: {seen!r}, not {wanted!r}", seen == wanted)


def refused(what, error, words, call):
    try:
        call()
    except error as refusal:
        holds(f"{what}: {refusal}", words in str(refusal))
    else:
        raise AssertionError(f"{what}: not refused")


client = Firecrawl(api_key=key, api_url=f"{url}/v1/tools")
page = client.scrape(article, formats=["markdown", "links", "html", "raw_html"])
holds("markdown", page.markdown.startswith("# An article"))
equal("links", page.links, [f"{site}/elsewhere", f"{site}/next"])
holds("raw_html", page.raw_html.startswith("<!doctype html>"))
equal("metadata", (page.metadata.title, page.metadata.status_code), ("An article", 200))
equal("nothing to warn of", page.warning, None)
holds("warning", "location" in client.scrape(article, location={"country": "US"}).warning)
refused("private address", BadRequestError, "not on the public Internet", lambda: client.scrape("http://10.0.0.1/"))
stranger = Firecrawl(api_key="sk-cv-nobody", api_url=url)
refused("stranger", UnauthorizedError, "The API key is not valid", lambda: stranger.scrape(article))

schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
wanted = ["images", "summary", {"type": "json", "prompt": "Its title", "schema": schema}]
page = client.scrape(article, formats=wanted)
equal("images", page.images, ["https://img.example/1.png"])
holds("summary", page.summary)
holds("json", isinstance(page.json["title"], str))
equal("nothing to warn of", page.warning, None)

equal("map", client.map(article, limit=1).links[0].title, "An article")
equal("search", client.search("article words", limit=1).web[0].url, article)

crawl = client.crawl(article, limit=1, poll_interval=1)
equal("crawl", (crawl.status, crawl.completed, len(crawl.data)), ("completed", 1, 1))
equal("crawl errors", client.get_crawl_errors(crawl.id).errors, [])
begun = client.start_crawl(silent, limit=1)
equal("crawl status", client.get_crawl_status(begun.id).status, "scraping")
holds("active crawls", begun.id in [one.id for one in client.get_active_crawls().crawls])
holds("queue status", client.get_queue_status().waiting_jobs_in_queue >= 1)
holds("cancel crawl", client.cancel_crawl(begun.id))

batch = client.batch_scrape([article, f"{site}/404"], formats=["markdown"], poll_interval=1)
equal("batch", (batch.status, batch.completed, len(batch.data)), ("completed", 2, 2))
begun = client.start_batch_scrape([silent, article])
equal("batch status", client.get_batch_scrape_status(begun.id).status, "scraping")
equal("batch errors", client.get_batch_scrape_errors(begun.id).errors, [])
holds("cancel batch", client.cancel_batch_scrape(begun.id))
begun = client.start_batch_scrape([article])
done = threading.Event()
watcher = client.watcher(begun.id, kind="batch", poll_interval=1, timeout=30)
watcher.add_listener(lambda job: done.set() if job.status == "completed" else None)
watcher.start()
holds("watcher", done.wait(30))

equal("concurrency", client.get_concurrency().max_concurrency, 20)
equal("credits", client.get_credit_usage().plan_credits, 1000)
holds("tokens", client.get_token_usage().remaining_tokens > 0)
refused("extract", FirecrawlError, 'formats: [{"type": "json"', lambda: client.extract(urls=[site], prompt="x"))

old = V1FirecrawlApp(api_key=key, api_url=url)
holds("v1 scrape", old.scrape_url(article, formats=["markdown"]).markdown.startswith("# An article"))
equal("v1 map", old.map_url(article).links[0], article)
equal("v1 search", old.search("article words").data[0]["url"], article)
equal("v1 crawl", len(old.crawl_url(article, limit=1, poll_interval=1).data), 1)
begun = old.async_crawl_url(silent, limit=1)
equal("v1 crawl status", old.check_crawl_status(begun.id).status, "scraping")
equal("v1 crawl errors", old.check_crawl_errors(begun.id).errors, [])
holds("v1 cancel", old.cancel_crawl(begun.id)["success"])
equal("v1 batch", len(old.batch_scrape_urls([article], poll_interval=1).data), 1)
begun = old.async_batch_scrape_urls([article])
holds("v1 batch status", old.check_batch_scrape_status(begun.id).success)
equal("v1 batch errors", old.check_batch_scrape_errors(begun.id).errors, [])
equal("v1 credits", old.get_credit_usage().data.plan_credits, 1000)
holds("v1 tokens", old.get_token_usage().data.remaining_tokens > 0)
holds("v1 months", old.get_credit_usage_historical().periods[0].creditsUsed > 0)

page = old.scrape_url(article, formats=["json"], json_options={"prompt": "Its title", "schema": schema})
holds("v1 json", isinstance(page.json_field["title"], str))

print(checks)
