// Parts of a page that take longer to measure than a page may take to come: fetched, and put in their place.

for (const place of document.querySelectorAll("[data-fetched]")) fill(place);

async function fill(place) {
  try {
    const response = await fetch(place.dataset.fetched, { headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const shown = response.ok ? page.body : page.querySelector(".notice") ?? page.body;
    place.replaceChildren(...shown.childNodes);
  } catch {
    place.textContent = "No connection: it could not be measured. Load the page again.";
  }
  document.documentElement.dataset.ready = "";
}
