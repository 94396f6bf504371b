// A link is shown as others will open it: with this server's address.

const secret = document.getElementById("secret");

if (secret?.dataset.address) secret.value = new URL(secret.dataset.address, location.href).href;
secret?.select();
