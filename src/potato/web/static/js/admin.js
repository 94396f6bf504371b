// The overview fetches the table of agreement, which takes longer to measure than a page may take to come.

const place = document.getElementById("agreement");

try {
  const response = await fetch(place.dataset.url, { headers: { Accept: "text/html" } });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  place.replaceChildren(...(response.ok ? page.body : page.querySelector(".notice") ?? page.body).childNodes);
} catch {
  place.textContent = "No connection: the agreement could not be measured. Load the page again.";
}
