// The page of a sign-in link. What follows the # never reaches a server or its logs by itself; it is posted from here.

const token = location.hash.slice(1);

if (token) {
  history.replaceState(null, "", location.pathname);
  document.getElementById("link").value = token;
  document.getElementById("enter").requestSubmit();
}
