import type { CDPSession } from 'playwright-core';

/** The main frame's document as of now. */
export interface ReadDocument {
  /** May be `chrome-error:` or `about:`. */
  url: string;
  html: string;
  cut: boolean;
  /** CSS pixels. */
  width: number;
  height: number;
}

/** A navigation takes the world away in which we look. */
const triesMax = 3;

/** Reads it in an isolated world, which the page's scripts cannot reach into. Hangs while they do: bound it. */
export async function readDocument(session: CDPSession, charsMax: number): Promise<ReadDocument> {
  for (let tries = 1; ; tries++) {
    try {
      const { frameTree } = await session.send('Page.getFrameTree');
      const world = { frameId: frameTree.frame.id, worldName: 'culvert' };
      const { executionContextId } = await session.send('Page.createIsolatedWorld', world);
      const { result } = await session.send('Runtime.evaluate', {
        contextId: executionContextId,
        returnByValue: true,
        expression: expression(charsMax),
      });
      return result.value as ReadDocument;
    } catch (error) {
      if (tries >= triesMax) throw error;
    }
  }
}

const expression = (charsMax: number) => `(() => {
  const root = document.documentElement;
  const type = document.doctype === null ? '' : '<!DOCTYPE html>';
  const html = root === null ? '' : type + root.outerHTML;
  const { scrollWidth = 0, scrollHeight = 0 } = root ?? {};
  return {
    url: document.URL,
    html: html.slice(0, ${charsMax}),
    cut: html.length > ${charsMax},
    width: scrollWidth,
    height: Math.max(scrollHeight, document.body?.scrollHeight ?? 0),
  };
})()`;
