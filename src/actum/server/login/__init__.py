"""Log-in for people: a browser, an outside issuer (OpenID Connect), and a session that the server keeps.

`door` is what a server serves, `provider` speaks with the issuer, `pending` keeps a log-in that is under way in a
cookie, `sessions` are the people who are logged in, `same_site` refuses what other pages ask for, `pages` is what
people read.
"""
