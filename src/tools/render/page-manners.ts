/**
 * Runs in every frame before its scripts. It is not a safeguard, which the proxy is: these features would only keep a
 * page busy or waiting. A socket fails as behind many a proxy, so that pages fall back to other ways.
 */
export const pageManners = `(() => {
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport']) delete globalThis[name];
  class WebSocket extends EventTarget {
    static CONNECTING = 0;
    static OPEN = 1;
    static CLOSING = 2;
    static CLOSED = 3;
    readyState = 3;
    bufferedAmount = 0;
    protocol = '';
    extensions = '';
    binaryType = 'blob';
    onopen = null;
    onmessage = null;
    onerror = null;
    onclose = null;
    constructor(url) {
      super();
      this.url = String(url);
      setTimeout(() => {
        for (const type of ['error', 'close']) {
          const event = new Event(type);
          this['on' + type]?.(event);
          this.dispatchEvent(event);
        }
      });
    }
    send() {}
    close() {}
  }
  globalThis.WebSocket = WebSocket;
  globalThis.print = () => undefined;
  globalThis.open = () => null;
})();`;
