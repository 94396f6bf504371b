// Asking the server for an item.

const PART = { headers: { Accept: "application/json" } };
const AGAIN_MS = [400, 1200];

/** The answer to a request for an item. Where the server is being restarted or has much to do, it is asked again before
 * anybody is bothered. */
export async function ask(url) {
  for (const wait of AGAIN_MS) {
    const response = await fetch(url, PART).catch(() => null);
    if (response && response.status < 500) return response;
    if (!navigator.onLine) break;
    await new Promise((resolve) => { setTimeout(resolve, wait); });
  }
  return fetch(url, PART);
}
