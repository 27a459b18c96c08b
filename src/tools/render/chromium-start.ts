import type { LaunchOptions } from 'playwright-core';

/**
 * Arguments of Chromium, added to those of playwright-core. Everything that could reach the network unasked, or around
 * the proxy, is off. The resolver knows no name, so that such an attempt could not even ask for an address.
 */
const flags = [
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
  '--disable-quic',
  '--dns-prefetch-disable',
  '--no-pings',
  '--disable-domain-reliability',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--deny-permission-prompts',
  '--disable-notifications',
  '--disable-speech-api',
  '--disable-print-preview',
  '--disable-gpu',
  // Memory of the scripts of one page, in MB: their renderer ends beyond it.
  '--js-flags=--max-old-space-size=512',
];

const startTimeoutMs = 30_000;

/** `home`: an empty folder of ours. */
export function startOptions(executablePath: string, proxyUrl: string, home: string): LaunchOptions {
  return {
    executablePath,
    headless: true,
    // Its sandbox cannot be had as root.
    chromiumSandbox: !runsAsRoot(),
    // Also for requests that belong to no page: without a password they get nowhere. The browser never connects to
    // loopback directly.
    proxy: { server: proxyUrl },
    args: flags,
    // Chromium blocks popups without a click, and nobody clicks here.
    ignoreDefaultArgs: ['--disable-popup-blocking'],
    // The process that runs pages needs none of our secrets.
    env: { PATH: process.env.PATH ?? '', HOME: home, TMPDIR: home, LANG: 'C.UTF-8' },
    timeout: startTimeoutMs,
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  };
}

export function runsAsRoot(): boolean {
  return process.getuid?.() === 0;
}
